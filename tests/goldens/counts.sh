#!/usr/bin/env bash
# Renews the lines of tests/goldens/counts (tests/support/tally.h) by what test
# programs count today. Look at the difference before you keep it: a number that
# fell is a proof that was lost.
#
#   tests/goldens/counts.sh build/release/tests/conformance/law_test ...
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

for program; do
  # 1: some test failed, as those do whose line is to be renewed.
  status=0
  output=$("$program") || status=$?
  if ((status > 1)); then
    printf '%s ended with status %d\n' "$program" "$status" >&2
    exit 1
  fi
  sed -n 's/^counted: //p' <<<"$output" \
    >"tests/goldens/counts/$(basename -- "$program").txt"
done
git diff --stat -- tests/goldens/counts
