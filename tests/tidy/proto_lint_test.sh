#!/bin/bash
# The protos keep buf's STANDARD and COMMENTS rules (proto/buf.yaml).
set -u

if ! venv=$(tools/venv.sh); then
  echo "SKIPPED: buf cannot be installed here (see above)"
  exit 0
fi
# Bazel shows links; buf reads only real files.
cp -rL proto "$TEST_TMPDIR/proto"
cd "$TEST_TMPDIR/proto" && "$venv/bin/buf" lint
