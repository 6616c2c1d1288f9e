#!/bin/bash
# Runs a Python test with the interpreter of tools/venv.sh, or with --plain as
# first argument with the system's; see python_test.bzl. Prints "SKIPPED: reason" and succeeds where that
# environment cannot be made.
set -u

export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
if [ "$1" = --plain ]; then
  shift
  exec python3 "$@"
fi
if ! venv=$(tools/venv.sh); then
  echo "SKIPPED: the Python environment cannot be made here (see above)"
  exit 0
fi
export PATH="$venv/bin:$PATH"
exec "$venv/bin/python" "$@"
