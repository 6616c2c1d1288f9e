#!/usr/bin/env bash
# ./selari build [targets] [flags]: sets up and builds; without arguments, the
# binary. A successful build of the binary is what makes the next start quick.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

require_packages build
mkdir -p "$STATE_DIR"
if [ $# -gt 0 ]; then
  run_bazel build "$@" || exit $EXIT_BUILD_FAILED
  exit 0
fi

# The stamp carries the time before the build: an edit made during the build
# makes it stale.
printf '%s' "${SELARI_BAZEL_FLAGS:-}" >"$STATE_DIR/building.$$"
trap 'rm -f "$STATE_DIR/building.$$"' EXIT
[ -e "$STATE_DIR/built" ] ||
  say "building; the first time takes some minutes"
quiet=()
[ -t 2 ] || quiet=(--noshow_progress --ui_event_filters=-info)
run_bazel build "${quiet[@]}" //cli:selari ||
  fail $EXIT_BUILD_FAILED "the build failed; its messages stand above"
mv "$STATE_DIR/building.$$" "$STATE_DIR/built"
