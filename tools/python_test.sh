#!/bin/bash
# Runs a Python test with the interpreter of tools/venv.sh; see
# python_test.bzl. Prints "SKIPPED: reason" and succeeds where that
# environment cannot be made.
set -u

if ! venv=$(tools/venv.sh); then
  echo "SKIPPED: the Python environment cannot be made here (see above)"
  exit 0
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
export PATH="$venv/bin:$PATH"
exec "$venv/bin/python" "$@"
