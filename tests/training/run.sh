#!/usr/bin/env bash
# Runs the tests of training/, or the Python file that is given, with the recipes' own
# Python. Without it there is nothing to run them with: exit code 77, which CTest takes for
# skipped.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.."
environment=build/training-python
# Its copy of the list says that it is whole.
if ! cmp --silent training/requirements.txt "$environment/installed.txt"; then
  echo "no whole $environment; scripts/train --setup makes it"
  exit 77
fi
# Tests run side by side; and one thread adds in one order.
export OMP_NUM_THREADS=1
(($# == 0)) || exec "$environment/bin/python" "$@"
# Before Python 3.12 no test at all is a pass.
exec "$environment/bin/python" -c '
import sys, unittest
found = ["", "discover", "-s", "tests/training", "-t", "."]
result = unittest.main(module=None, argv=found, exit=False).result
sys.exit(not (result.testsRun and result.wasSuccessful()))'
