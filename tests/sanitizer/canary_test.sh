#!/bin/bash
# A build with a sanitizer (named in SELARI_SANITIZER, see .bazelrc) finds the
# mistake that the canary makes. Other builds have nothing to find.
set -u

[ -n "${SELARI_SANITIZER:-}" ] || exit 0
if output=$(tests/sanitizer/canary "$SELARI_SANITIZER" 2>&1); then
  echo "the mistake was not found: $output"
  exit 1
fi
grep -qE 'ThreadSanitizer: data race|heap-buffer-overflow|signed integer overflow' \
  <<<"$output" || { echo "another failure: $output"; exit 1; }
