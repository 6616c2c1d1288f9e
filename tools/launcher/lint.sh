#!/usr/bin/env bash
# ./selari lint [C++ files]: the static checks. Without files, all of them:
#   layout        clang-format
#   protos        buf lint (STANDARD, COMMENTS) and, once there is a release,
#                 buf breaking (FILE) against it
#   clang-tidy    .clang-tidy, and clang's thread-safety analysis
# tests/tidy, which runs with `./selari test`, checks what these cannot see.
# Ends with 1 if anything was found.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

require_packages build test lint
findings=0
sources=("$@")
cd "$SELARI_ROOT"

check_layout() {
  local files
  mapfile -t files < <(project_files '*.cc' '*.h' '*.cu' '*.cuh' '*.proto')
  clang-format-14 --dry-run --Werror -- "${files[@]}" || {
    say "layout differs: run ./selari format"
    return 1
  }
}

check_protos() {
  local venv release
  venv=$("$SELARI_ROOT/tools/venv.sh")
  "$venv/bin/buf" lint proto || return 1
  release=$(git tag --list 'v*' --sort=-version:refname 2>/dev/null | head -n1)
  [ -n "$release" ] || return 0
  "$venv/bin/buf" breaking proto --against ".git#tag=$release,subdir=proto"
}

# What clang-tidy sees in google-benchmark's macros is not the project's.
benchmark_checks=-clang-analyzer-deadcode.DeadStores
benchmark_checks+=,-clang-analyzer-cplusplus.NewDeleteLeaks

tidy_sources() {
  local checks=$1
  shift
  [ $# -gt 0 ] || return 0
  local generated=bazel-bin/proto/selari/v1/generated
  printf '%s\0' "$@" | xargs -0 -I{} -P "$(nproc)" \
    clang-tidy-14 --quiet --checks="$checks" {} -- -std=c++17 -DNDEBUG -Wall \
    -Wextra -Wthread-safety -I. -isystem "$generated" \
    -isystem bazel-bin/third_party/generated -isystem /usr/include/eigen3 \
    -DSELARI_ISA_LEVEL=3 -DSELARI_ISA_NAMESPACE=isa_v3 -march=x86-64-v3 \
    2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2)
}

# clang-tidy compiles, so it needs the generated headers.
check_sources() {
  run_bazel build --show_result=0 //third_party:grpc_health_generate \
    $(cd proto && find . -name '*.proto' -printf '//proto/%P\n' |
      sed -E 's#/([^/]+)\.proto$#:\1_proto_generate#') || return 1
  [ ${#sources[@]} -gt 0 ] || mapfile -t sources < <(project_files '*.cc')
  local benchmarks=() others=() source
  for source in "${sources[@]}"; do
    case "$source" in
      *_benchmark.cc) benchmarks+=("$source") ;;
      *) others+=("$source") ;;
    esac
  done
  local found=0
  tidy_sources "$benchmark_checks" "${benchmarks[@]}" || found=1
  tidy_sources "" "${others[@]}" || found=1
  return $found
}

if [ ${#sources[@]} -eq 0 ]; then
  check_layout || findings=1
  check_protos || findings=1
fi
check_sources || findings=1
[ $findings -eq 0 ] && say "no findings"
exit $findings
