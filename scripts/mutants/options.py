"""Plants small mistakes and counts those that the tests find.

  scripts/mutate [--sample N] [--seed S] [--paths PATH...]
                 [--only ID... | --list | --claims] [--again] [--short]

Mistakes of a seeded sample are compiled together into a copy of the tree in
build/mutate, each asleep until an environment variable names it when a test
starts. Tests, those of GoogleTest and the scripts that start `banyan`, are
traced; then each mistake meets those that reach it, cheapest first, until one
fails. Mistakes that cannot change behaviour stand in docs/mutants.md, each with
its reason, and are counted apart. Fails if fewer than 95 of 100 of the others
die.

  --sample N    how many, alike from every path (300)
  --seed S      which (1)
  --paths ...   folders or files, the deepest that holds a file counts it
                (verifiers core/prob tree tree/policies tree/optimize drafters
                decode experiments/records experiments/run)
  --only ID     these alone, whether in the sample or not
  --list        prints the sample and tries nothing
  --claims      tries those of docs/mutants.md in the sample: they must live
  --again       tries those that lived once more and trusts the deaths of
                another state of the tree; without it, results hold for the
                state they were found in
  --short       leaves out the test programs that take longer than five
                seconds; what lives is not taken for an answer
  --jobs N      at a time (2)
  --targets ... builds these alone, not all
  --copy DIR    where the copy is made (build/mutate/tree)

Results are kept in build/mutate/results.jsonl as they come, so a run that was
stopped goes on where it stood.
"""

import argparse
import pathlib
import sys

PATHS = ("verifiers", "core/prob", "tree", "tree/policies", "tree/optimize",
         "drafters", "decode", "experiments/records", "experiments/run")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/mutate", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--paths", nargs="+", default=list(PATHS))
    parser.add_argument("--only", nargs="+", metavar="ID", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--claims", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--targets", nargs="+", default=[])
    parser.add_argument("--copy", type=pathlib.Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":  # of scripts/mutate: only looks at its arguments
    parse(sys.argv[1:])
    sys.exit(3)
