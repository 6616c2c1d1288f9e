#!/usr/bin/env bash
# ./selari format: lays out C++ and protos as .clang-format says.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

require_packages test
mapfile -t files < <(project_files '*.cc' '*.h' '*.cu' '*.cuh' '*.proto')
cd "$SELARI_ROOT"
clang-format-14 -i -- "${files[@]}"
say "${#files[@]} files are in shape"
