#!/usr/bin/env bash
# Runs a test script, $1, with the path of the binary, $2, as its argument.
set -euo pipefail
exec /usr/bin/python3 -B "$@"
