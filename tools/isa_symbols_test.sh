#!/bin/bash
# Fails if a library compiled for x86-64-v3 or v4 defines a symbol that the
# linker could use for, or merge with, code of another level. See
# isa_library.bzl. Arguments: the archives (libNAME_isa_vN.a).
set -eu -o pipefail

[ $# -ge 2 ] || { echo "usage: $0 ARCHIVE ARCHIVE..." >&2; exit 1; }
failures=0
for archive in "$@"; do
  level=$(sed -nE 's/.*_isa_v([0-9]+)\.(pic\.)?(a|lo|so)$/\1/p' <<<"$archive")
  [ -n "$level" ] || { echo "no level in the name of $archive"; exit 1; }
  symbols=$(nm --defined-only --extern-only --format=posix "$archive")
  # Strong (T D B R), weak (W V) or unique (u). Sanitizers add their own.
  own="isa_v$level|EigenIsaV$level|^__(a|t|ub)san|^__odr_asan|^DW\.ref\."
  leaks=$(awk -v own="$own" '
    $2 ~ /^[TDBRGSWVuC]$/ && $1 !~ own { print $1 }' <<<"$symbols" | sort -u)
  if [ -n "$leaks" ]; then
    echo "$archive: symbols outside isa_v$level and EigenIsaV$level:"
    c++filt <<<"$leaks" | sed 's/^/  /'
    failures=1
  fi
done
exit $failures
