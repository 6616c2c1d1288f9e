#!/bin/bash
# C++ and protos are laid out as .clang-format says; `./selari format` does it.
set -u

if ! command -v clang-format-14 >/dev/null; then
  echo "SKIPPED: clang-format-14 is not installed (./selari format does that)"
  exit 0
fi
root=$(dirname "$(readlink -f WORKSPACE)")
cd "$root" || exit 1
if ! files=$(git -c safe.directory="$root" ls-files --cached --others \
  --exclude-standard -- '*.cc' '*.h' '*.cu' '*.cuh' '*.proto'); then
  echo "SKIPPED: not a git working tree"
  exit 0
fi
# Listed but removed files are no finding.
grep -q . <<<"$files" || exit 1
while read -r file; do [ -f "$file" ] && echo "$file"; done <<<"$files" |
  xargs -d '\n' clang-format-14 --dry-run --Werror
