#!/usr/bin/env bash
# ./selari test [targets] [flags]: builds and runs tests; without targets, all
# of them except those tagged manual. The last line printed is
#
#   N passed, N failed[, N skipped]
#
# counted in test targets. A test that cannot run here prints a line
# "SKIPPED: reason" and succeeds; the reasons are repeated at the end.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

targets=() flags=()
for argument in "$@"; do
  case "$argument" in
    --) ;;
    # "-//tests/slow/..." takes targets away, other things with - are flags.
    -//* | [!-]*) targets+=("$argument") ;;
    *) flags+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(//...)

require_packages build test
mkdir -p "$STATE_DIR"
log=$(mktemp "$STATE_DIR/test-log.XXXXXX")
trap 'rm -f "$log"' EXIT

# Made here, where no test's time limit runs; where that fails, the tests that
# need it say why they are skipped.
wanted=$(printf '%s\n' "${targets[@]}" | grep -v '^-' | paste -sd' ')
if [ -n "$(run_bazel query --keep_going --noshow_progress \
  "attr(tags, python_packages, tests(set($wanted)))" 2>/dev/null)" ]; then
  "$SELARI_ROOT/tools/venv.sh" >/dev/null || true
fi

status=0
run_bazel test --keep_going --noshow_progress --color=no "${flags[@]}" -- \
  "${targets[@]}" 2>&1 | tee "$log" || status=${PIPESTATUS[0]}

# Bazel's summary has one line for each test: //label  [(cached)] RESULT ...
results=$(sed -nE \
  's#^(//[^ ]+) +(\(cached\) )?(PASSED|FLAKY|FAILED TO BUILD|FAILED|TIMEOUT|NO STATUS).*#\1 \3#p' \
  "$log" | sort -u)
passed=$(grep -cE ' (PASSED|FLAKY)$' <<<"$results" || true)
failed=$(grep -cE ' (FAILED|TIMEOUT|NO STATUS|FAILED TO BUILD)$' <<<"$results" || true)

skipped=0
logs=$(run_bazel info bazel-testlogs "${flags[@]}" 2>/dev/null || true)
while read -r label; do
  path=${label#//}
  reason=$(grep -m1 -h '^SKIPPED: ' "$logs/${path/://}/test.log" 2>/dev/null) ||
    continue
  printf '%s %s\n' "$label" "$reason"
  skipped=$((skipped + 1))
done < <(sed -nE 's/ (PASSED|FLAKY)$//p' <<<"$results")
passed=$((passed - skipped))

# A build that broke before any test ran has no result line.
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
  say "bazel ended with $status"
  failed=1
fi
summary="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || summary+=", $skipped skipped"
printf '%s\n' "$summary"
[ "$failed" -eq 0 ] || exit 1
