#!/usr/bin/env python3
"""Chooses a share of the proofs, and every other test.

  ctest --show-only=json-v1 ... | choose_tests.py N/M CHOSEN

Proofs are the tests with the label `proof`. They are divided into M shares by a
checksum of their names, so that a test stays in its share when others come or
go. Writes into CHOSEN the tests of share N (1 to M) and those that are no proofs,
for `ctest --tests-information CHOSEN` with the same filter, and prints how many
proofs they are.
"""

import argparse
import json
import pathlib
import sys
import zlib


def is_proof(test):
    return any("proof" in label.split("+")
               for property_ in test.get("properties", [])
               if property_["name"] == "LABELS" for label in property_["value"])


def share_of(name, shares):
    """1 to `shares`."""
    return zlib.crc32(name.encode()) % shares + 1


def choose(tests, share, shares):
    """The numbers of the chosen tests, from 1, and how many are proofs."""
    numbers = []
    proofs = 0
    for number, test in enumerate(tests, start=1):
        if is_proof(test):
            if share_of(test["name"], shares) != share:
                continue
            proofs += 1
        numbers.append(number)
    return numbers, proofs


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", metavar="N/M")
    parser.add_argument("chosen", type=pathlib.Path, metavar="CHOSEN")
    options = parser.parse_args(arguments)
    share, shares = map(int, options.which.split("/"))
    tests = json.load(sys.stdin)["tests"]
    numbers, proofs = choose(tests, share, shares)
    # No range from start to end, test 0, which there is not, then these.
    line = ",".join(map(str, [0, 0, 0, 0, *numbers]))
    options.chosen.write_text(line + "\n", encoding="utf-8")
    print(f"Proofs: share {share} of {shares}, {proofs} of "
          f"{sum(map(is_proof, tests))}")


if __name__ == "__main__":
    main(sys.argv[1:])
