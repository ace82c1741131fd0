#!/usr/bin/env bash
# Runs the tests of training/ with the recipes' own Python. Without it there is
# nothing to run them with: exit code 77, which CTest takes for skipped.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.."
python=build/training-python/bin/python
if [[ ! -x $python ]]; then
  echo "no build/training-python; scripts/train --setup makes it"
  exit 77
fi
# Tests run side by side; and one thread adds in one order.
export OMP_NUM_THREADS=1
exec "$python" -m unittest discover -s tests/training -t .
