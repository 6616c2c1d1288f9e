#!/usr/bin/env bash
# Prints the folder of a Python environment with tools/requirements.txt, made
# on the first call (from PyPI, so that call needs the network). It lies in the
# project's own .selari folder, or in $SELARI_VENV_DIR, one per content of the
# requirements; nothing outside is touched. Exits with 69 and says why if it
# cannot be made.
set -euo pipefail

# Bazel shows tests a symbolic link to this file; the project is where it
# really lies.
script=$(readlink -f -- "${BASH_SOURCE[0]}")
tools=$(dirname -- "$script")
state=${SELARI_VENV_DIR:-$(dirname -- "$tools")/.selari}
# Debian's python3-venv belongs to Debian's Python, not to another on PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

fail() {
  echo "selari: $*" >&2
  exit 69
}

mkdir -p "$state"
# The scripts of an environment carry its path, so it does not survive a move.
key=$({ cat "$tools/requirements.txt" && "$python" --version && echo "$state"; } |
  cksum | cut -d' ' -f1)
venv="$state/venv-$key"
# Several tests may ask at once: one makes it, the others wait.
exec 9>"$state/venv.lock"
flock 9
if [ ! -e "$venv/ready" ]; then
  # Offline, one test waits for PyPI's silence, not each.
  if [ -n "$(find "$venv.failed" -mmin -5 2>/dev/null)" ]; then
    fail "$(cat "$venv.failed")"
  fi
  echo "selari: making a Python environment for tests in $venv" >&2
  rm -rf "$venv"
  "$python" -m venv "$venv" >&2 ||
    fail "no Python environment: install python3 and python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --retries 1 --requirement "$tools/requirements.txt" >&2 || {
    rm -rf "$venv"
    echo "no Python environment: PyPI did not give tools/requirements.txt" \
      "(offline?); run again in 5 minutes or more" >"$venv.failed"
    fail "$(cat "$venv.failed")"
  }
  rm -f "$venv.failed"
  touch "$venv/ready"
fi
printf '%s\n' "$venv"
