#!/bin/bash
# Tests of ./selari: a copy of the launcher runs in a project made for each
# test, where Bazel, dpkg-query, apt-get and sudo are fakes that log their
# calls.
set -u

readonly SOURCE="$TEST_SRCDIR/$TEST_WORKSPACE"
failures=0

# new_project NAME: an empty project with the launcher at $project, and fakes
# in $fakes. The fake Bazel makes a "selari" that prints where it stands and
# what it was given.
new_project() {
  sandbox="$TEST_TMPDIR/$1"
  project="$sandbox/${2:-project}"
  fakes="$sandbox/fakes"
  calls="$sandbox/calls"
  mkdir -p "$project/deploy" "$project/tools" "$project/cli" "$fakes"
  cp -rL "$SOURCE/tools/launcher" "$project/tools/"
  cp -L "$SOURCE/selari" "$project/"
  printf '%s\n' '[build]' 'alpha  # the first' 'beta   # the second' \
    '[test]' 'gamma  # only for tests' >"$project/deploy/packages.txt"
  touch "$project/WORKSPACE" "$project/.bazelrc" "$project/BUILD" "$calls"
  echo 'int main() {}' >"$project/cli/main.cc"

  fake bazel '
    [ "$1" != --version ] || { echo "bazel ${FAKE_BAZEL_VERSION:-4.2.3}"; exit 0; }
    while [ "${1#-}" != "$1" ]; do shift; done
    case "$1" in
      query) exit 0 ;;
      info) echo "$FAKE_TESTLOGS"; exit 0 ;;
      test) cat "$FAKE_RESULTS"; exit "${FAKE_BAZEL_STATUS:-0}" ;;
    esac
    [ -z "${FAKE_BAZEL_STATUS:-}" ] || exit "$FAKE_BAZEL_STATUS"
    mkdir -p out/cli
    printf "%s\n" "#!/bin/bash" "echo \"at \$PWD\"" "printf \"<%s>\" \"\$@\"" \
      >out/cli/selari
    chmod +x out/cli/selari
    ln -sfn "$PWD/out" bazel-bin'
  # Prints those of its arguments that stand in the file "installed".
  fake dpkg-query '
    if [ "$1" = -S ]; then
      echo "${FAKE_BAZEL_OWNER:-bazel-bootstrap}: $2"
      exit 0
    fi
    for name in "$@"; do
      if grep -qx -- "$name" "$(dirname "$0")/../installed"; then
        echo "$name installed"
      fi
    done'
  fake apt-get 'exit "${FAKE_APT_STATUS:-0}"'
  fake sudo 'exec "$@"'
  printf 'alpha\nbeta\ngamma\n' >"$sandbox/installed"
  export SELARI_BAZEL="$fakes/bazel" PATH="$fakes:/usr/bin:/bin"
  export HOME="$TEST_TMPDIR"
  unset FAKE_BAZEL_STATUS FAKE_BAZEL_VERSION FAKE_APT_STATUS SELARI_ROOT
  unset SELARI_BAZEL_FLAGS SELARI_BAZEL_STARTUP_FLAGS
}

# fake NAME BODY: a program that logs its call, then does BODY.
fake() {
  printf '#!/bin/bash\necho "%s $*" >>"%s"\n%s\n' "$1" "$calls" "$2" \
    >"$fakes/$1"
  chmod +x "$fakes/$1"
}

check() {
  local what=$1
  shift
  if ! "$@"; then
    echo "FAILED: $test_name: $what"
    printf '  output: %s\n' "${output:-}" "calls: $(cat "$calls")"
    failures=1
  fi
}
contains() { grep -qF -- "$1" <<<"$output"; }
lacks() { ! contains "$1"; }
called() { grep -qF -- "$1" "$calls"; }
not_called() { ! called "$1"; }
is() { [ "$1" = "$2" ]; }

# ---------------------------------------------------------------------------

test_first_call_builds_and_second_does_not_start_bazel() {
  new_project fresh
  output=$("$project/selari" train 2>&1)
  check "builds" called "bazel build"
  : >"$calls"
  output=$("$project/selari" train --steps=3 'two words' 2>&1)
  check "arguments arrive" contains "<train><--steps=3><two words>"
  check "starts neither Bazel nor dpkg" is "$(cat "$calls")" ""
}

test_a_changed_added_or_removed_source_is_built() {
  new_project stale
  "$project/selari" x >/dev/null 2>&1
  touch -d '+1 second' "$project/cli/main.cc"
  : >"$calls"
  output=$("$project/selari" x 2>&1)
  check "changed file" called "bazel build"

  new_project removed
  touch "$project/cli/old.cc"
  "$project/selari" x >/dev/null 2>&1
  rm "$project/cli/old.cc"
  touch -d '+1 second' "$project/cli"
  : >"$calls"
  output=$("$project/selari" x 2>&1)
  check "removed file" called "bazel build"
}

test_a_failed_build_runs_nothing_and_is_tried_again() {
  new_project broken
  output=$(FAKE_BAZEL_STATUS=1 "$project/selari" train 2>&1)
  check "exit code" is $? 70
  check "says so" contains "build failed"
  check "does not run" lacks "at /"
  output=$("$project/selari" train 2>&1)
  check "tried again" contains "<train>"
}

test_keeps_the_current_folder() {
  new_project elsewhere
  mkdir -p "$sandbox/some where"
  output=$(cd "$sandbox/some where" && "$project/selari" x 2>&1)
  check "runs where the user stands" contains "at $sandbox/some where"
}

test_the_program_knows_how_it_was_called() {
  new_project name
  output=$("$project/selari" x 2>&1)
  # A script would not be told, so a program takes the fake's place.
  cp /bin/bash "$project/out/cli/selari"
  output=$(cd "$project" && ./selari -c 'echo "called $0"' 2>&1)
  check "by its path from here" contains "called ./selari"
}

test_works_through_a_symbolic_link_and_a_path_with_blanks() {
  new_project blanks "my project"
  ln -s "$project/selari" "$sandbox/link"
  output=$(cd / && "$sandbox/link" x 2>&1)
  check "runs" contains "<x>"
  : >"$calls"
  output=$(cd / && "$sandbox/link" x 2>&1)
  check "second call is quick" is "$(cat "$calls")" ""
  rm -rf "/var/tmp/selari-$(id -u)-$(cksum <<<"$project" | cut -d' ' -f1)"
}

test_works_without_a_home() {
  new_project homeless
  output=$(env -u HOME "$project/selari" x 2>&1)
  check "runs" contains "<x>"
  check "keeps output elsewhere" called "--output_user_root=/var/tmp/"
}

test_missing_packages_are_named_with_reasons_and_installed() {
  new_project missing
  echo alpha >"$sandbox/installed"
  output=$("$project/selari" x 2>&1)
  check "names it and why" contains "beta # the second"
  check "not what is there" lacks "alpha # the first"
  check "not what only tests need" lacks "gamma"
  check "installs it" called "install -y --no-install-recommends beta"
}

test_only_tests_install_what_only_tests_need() {
  new_project test_packages
  printf 'alpha\nbeta\n' >"$sandbox/installed"
  export FAKE_RESULTS=/dev/null FAKE_TESTLOGS=/
  output=$("$project/selari" test 2>&1)
  check "installs it" called "install -y --no-install-recommends gamma"
}

test_a_package_that_cannot_be_had_is_named_with_advice() {
  new_project unavailable
  echo alpha >"$sandbox/installed"
  output=$(FAKE_APT_STATUS=100 "$project/selari" x 2>&1)
  check "exit code" is $? 69
  check "names it" contains "could not install: beta"
  check "says what to do" contains "apt-get install --no-install-recommends beta"
  check "refreshes the index first" called "update"
  check "does not build" not_called "bazel build"
}

test_asks_for_an_administrator_when_it_can_do_nothing() {
  new_project powerless
  echo alpha >"$sandbox/installed"
  fake id 'echo 1000'
  rm "$fakes/sudo"
  mkdir "$sandbox/bin"
  for program in bash awk sed grep xargs dirname readlink find cat mkdir mv rm \
    id env paste touch cksum cut; do
    ln -s "$(PATH=/usr/bin:/bin command -v $program)" "$sandbox/bin/"
  done
  output=$(PATH="$fakes:$sandbox/bin" "$project/selari" x 2>&1)
  check "exit code" is $? 69
  check "says what to run" contains \
    "administrator to run: apt-get install --no-install-recommends beta"
}

test_a_user_who_is_not_root_installs_with_sudo() {
  new_project sudo
  echo alpha >"$sandbox/installed"
  fake id 'echo 1000'
  output=$("$project/selari" x 2>&1)
  check "through sudo" called "sudo env DEBIAN_FRONTEND=noninteractive apt-get"
}

test_another_system_than_debian_is_told_what_to_do() {
  new_project foreign
  rm "$fakes/dpkg-query"
  mkdir "$sandbox/bin"
  for program in bash awk sed grep dirname readlink find cat chmod mkdir ln mv rm id; do
    ln -s "$(PATH=/usr/bin:/bin command -v $program)" "$sandbox/bin/"
  done
  output=$(PATH="$fakes:$sandbox/bin" "$project/selari" x 2>&1)
  check "exit code" is $? 69
  check "names the way out" contains "SELARI_SKIP_PACKAGES=1"
  output=$(SELARI_SKIP_PACKAGES=1 PATH="$fakes:$sandbox/bin" \
    "$project/selari" x 2>&1)
  check "which works" contains "<x>"
}

test_a_newer_bazel_gets_the_flags_that_make_it_read_the_workspace() {
  new_project newer
  output=$(FAKE_BAZEL_VERSION=8.1.0 "$project/selari" x 2>&1)
  check "says which" contains "8.1.0"
  check "flags" called "build --noenable_bzlmod --enable_workspace"

  new_project older
  output=$(FAKE_BAZEL_VERSION="no_version" "$project/selari" x 2>&1)
  check "Debian's own needs none" called "build --noshow_progress"
}

test_a_bazel_package_of_another_origin_is_left_alone() {
  new_project foreign_bazel
  echo 'bazel-bootstrap  # Bazel' >>"$project/deploy/packages.txt"
  sed -i 's/\[test\]//' "$project/deploy/packages.txt"
  output=$("$project/selari" x 2>&1)
  check "is installed if there is no other" called \
    "install -y --no-install-recommends bazel-bootstrap"
  : >"$calls"
  touch "$project/WORKSPACE"
  output=$(FAKE_BAZEL_OWNER=bazel "$project/selari" x 2>&1)
  check "is not forced over another" not_called "install"
  check "builds" called "bazel build"
}

test_flags_from_the_environment_reach_bazel_and_count_for_freshness() {
  new_project flags
  output=$("$project/selari" x 2>&1)
  export SELARI_BAZEL_FLAGS="--jobs=1 --config=native"
  export SELARI_BAZEL_STARTUP_FLAGS="--batch"
  output=$("$project/selari" x 2>&1)
  check "both" called "bazel --batch build --jobs=1 --config=native"
}

# results TEXT...: what the fake Bazel prints as its summary.
results() {
  export FAKE_RESULTS="$sandbox/results" FAKE_TESTLOGS="$sandbox/testlogs"
  printf '%s\n' "$@" >"$FAKE_RESULTS"
}

test_the_last_line_counts_tests() {
  new_project counts
  results '//a:one_test      (cached) PASSED in 0.1s' \
    '//a:two_test               PASSED in 0.1s' \
    '//b/c:skip_test            PASSED in 0.1s' \
    '//b:bad_test               FAILED in 0.1s' \
    '//b:slow_test              TIMEOUT in 60.0s' \
    '//b:broken_test            FAILED TO BUILD' \
    '//b:never_test             NO STATUS'
  mkdir -p "$sandbox/testlogs/b/c/skip_test"
  echo 'SKIPPED: no network' >"$sandbox/testlogs/b/c/skip_test/test.log"
  output=$(FAKE_BAZEL_STATUS=3 "$project/selari" test 2>/dev/null)
  check "exit code" is $? 1
  check "last line" is "$(tail -n1 <<<"$output")" "2 passed, 4 failed, 1 skipped"
  check "reason" contains "//b/c:skip_test SKIPPED: no network"
}

test_all_passed() {
  new_project passed
  results '//a:one_test   PASSED in 0.1s'
  output=$("$project/selari" test 2>/dev/null)
  check "exit code" is $? 0
  check "last line" is "$(tail -n1 <<<"$output")" "1 passed, 0 failed"
  check "everything by default" called "-- //..."
}

test_a_build_that_breaks_before_any_test_counts_as_failed() {
  new_project no_result
  results 'ERROR: BUILD:3: oh'
  output=$(FAKE_BAZEL_STATUS=1 "$project/selari" test 2>/dev/null)
  check "exit code" is $? 1
  check "last line" is "$(tail -n1 <<<"$output")" "0 passed, 1 failed"
}

test_targets_and_flags_are_told_apart() {
  new_project targets
  results '//a:one_test   PASSED in 0.1s'
  output=$("$project/selari" test --config=asan //a:one_test //b/... 2>&1)
  check "flags first" called "--config=asan -- //a:one_test //b/..."
}

test_the_head_lists_every_variable_that_is_read() {
  new_project environment
  output=$(sed -n '/^# Environment:/,/^# Exit codes/p' "$project/selari")
  local name
  # Not for users: what is passed on, and what lint gives the compiler.
  for name in $(grep -rhoE 'SELARI_[A-Z_]+' "$project/tools/launcher" \
    "$project/selari" "$SOURCE/tools/venv.sh" | sort -u |
    grep -vE '^SELARI_(ROOT|ISA_.*)$'); do
    check "$name" grep -qE "^#   $name[ =]" "$project/selari"
  done
  check "the one of venv.sh" contains SELARI_VENV_DIR
}

# ---------------------------------------------------------------------------

for test_name in $(declare -F | awk '$3 ~ /^test_/ { print $3 }'); do
  echo "$test_name"
  "$test_name"
done
exit $failures
