"""The program of scripts/mutate; options.py describes it."""

import sys

from copy_tree import BuildError
from options import parse
from report import report
from run import Run
from sample import ClaimError
from trial import Interrupted

NEEDED = 95  # of 100 that change behaviour


def main(arguments):
    options = parse(arguments)
    run = Run(options)
    groups = run.find()
    stale = run.stale_claims(groups)
    for claim in stale:
        print(f"docs/mutants.md: {claim[0]}, {claim[1]} has no mutant "
              f"'{claim[2]}' -> '{claim[3]}' ({claim[4]})")
    known = run.known()
    sample, extra = run.chosen(groups, known)
    total = sum(map(len, groups.values()))
    run.say(f"{total} mutants in {len(groups)} paths, a sample of "
            f"{sample.count()} by seed {options.seed}")
    if options.list:
        for mutant in sample.mutants() + extra:
            print(mutant.describe())
        return 1 if stale else 0
    planted = run.plant(sample, extra)
    numbers = list(run.to_try(planted, known))
    if numbers:
        run.try_all(planted, numbers, known)
    lines, whole = report(list(run.judge(groups, planted, known)),
                          options.paths)
    print("\n".join(lines))
    wrong = run.refuted(planted, known)
    for mutant in wrong:
        print(f"{known[mutant.id]['by']} tells apart what docs/mutants.md says "
              f"cannot be told: {mutant.describe()}")
    score = whole.score()
    print(f"{whole.dead} of {whole.dead + whole.living} that change behaviour "
          f"die; {whole.claimed} cannot change it; "
          f"{run.minutes():.0f} minutes")
    well = not stale and not wrong and score is not None and score >= NEEDED
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BuildError, ClaimError, FileNotFoundError,
            Interrupted) as fault:
        sys.exit(f"scripts/mutate: {fault}")
