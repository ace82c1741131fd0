"""Plants small mistakes and counts those that the tests find.

  scripts/mutate [--sample N] [--seed S] [--paths PATH...]
                 [--only ID... | --list | --claims] [--again] [--jobs N]

Mistakes of a seeded sample are compiled together into a copy of the tree in
build/mutate, each asleep until an environment variable names it when a test
starts. Every test is traced once; then each mistake meets the tests that reach
it, cheapest first, until one fails. Mistakes that cannot change behaviour stand
in docs/mutants.md, each with its reason, and are counted apart. Fails if fewer
than 95 of 100 of the others die.

  --sample N    how many, alike from every path (300)
  --seed S      which (1)
  --paths ...   folders or files, the deepest that holds a file counts it
                (verifiers core/prob tree tree/policies tree/optimize
                drafters/grow.cc decode)
  --only ID     these alone, whether in the sample or not
  --list        prints the sample and tries nothing
  --claims      tries those of docs/mutants.md in the sample: they must live
  --again       tries those that lived once more and trusts the deaths of
                another state of the tree; without it, results hold for the
                state they were found in
  --jobs N      at a time (2)
  --targets ... builds these alone, not all
  --copy DIR    where the copy is made (build/mutate/tree)

Results are kept in build/mutate/results.jsonl as they come, so a run that was
stopped goes on where it stood.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import sys
import threading
import time

import sites
import trial
from copy_tree import BuildError, Copy
from mutant import Mutant
from reach import Coverage
from report import (CLAIMED, DEAD, LIVING, UNCOMPILED, UNREACHED, report)
from sample import ClaimError, Sample, group_of, read_claims, sources

PATHS = ("verifiers", "core/prob", "tree", "tree/policies", "tree/optimize",
         "drafters/grow.cc", "decode")
NEEDED = 95  # of 100 that change behaviour


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
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--targets", nargs="+", default=[])
    parser.add_argument("--copy", type=pathlib.Path)
    return parser.parse_args(arguments)


class Run:
    """One call of scripts/mutate."""

    def __init__(self, options):
        self.options = options
        self.root = options.root.resolve()
        self.folder = self.root / "build/mutate"
        self.folder.mkdir(parents=True, exist_ok=True)
        place = options.copy or self.folder / "tree"
        self.copy = Copy(self.root, place.resolve())
        self.state = self.copy.digest()
        self.claims = read_claims(self.root / "docs/mutants.md")
        self.results = self.folder / "results.jsonl"
        self.lock = threading.Lock()
        self.start = time.monotonic()

    def say(self, text):
        minutes = (time.monotonic() - self.start) / 60
        print(f"{minutes:6.1f} min  {text}", flush=True)

    def find(self):
        """{path: its mutants}, found again only where a file has changed."""
        files = sources(self.root, self.options.paths, self.copy.names)
        self.copy.refresh(planted=files)
        self.copy.configure(files)
        arguments = self.copy.arguments()
        cache = self.folder / "sites"
        cache.mkdir(exist_ok=True)
        groups = {path: [] for path in self.options.paths}
        for name, group in files.items():
            if name in arguments:
                groups[group] += self.find_in(name, arguments[name], cache)
        return groups

    def find_in(self, name, arguments, cache):
        source = (self.root / name).read_text(encoding="utf-8")
        here = pathlib.Path(__file__).parent
        rules = "".join((here / rule).read_text(encoding="utf-8")
                        for rule in ("sites.py", "swaps.py", "mutant.py"))
        key = hashlib.sha256(f"{name}\0{source}\0{rules}".encode()).hexdigest()
        kept = cache / key
        if kept.exists():
            return [Mutant(**fields) for fields in
                    json.loads(kept.read_text(encoding="utf-8"))]
        # The copy's headers are those of the tree.
        found = sites.find_mutants(name, str(self.root / name), source,
                                   arguments)
        kept.write_text(json.dumps([vars(mutant) for mutant in found]),
                        encoding="utf-8")
        return found

    def known(self):
        """{id: result} of earlier runs that still hold."""
        found = {}
        if self.results.exists():
            for line in self.results.read_text(encoding="utf-8").splitlines():
                result = json.loads(line)
                if (result["tree"] == self.state or
                        result["state"] == UNCOMPILED or
                        self.options.again and result["state"] == DEAD):
                    found[result["id"]] = result
        return found

    def keep(self, mutant, state, by, seconds):
        result = {"id": mutant.id, "file": mutant.file, "kind": mutant.kind,
                  "state": state, "by": by, "seconds": round(seconds, 2),
                  "tree": self.state}
        with self.lock, self.results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")
        return result

    def plant(self, sample, extra):
        """Builds with the sample and `extra` in, those that do not compile
        replaced; returns {number: mutant}."""
        numbers = {}
        used = 0
        dropped = 0
        while True:
            sample.fill()
            for mutant in sample.mutants() + extra:
                if mutant not in numbers:
                    # The number of one that was dropped is not used again.
                    numbers[mutant] = used
                    used += 1
            planted = {number: mutant for mutant, number in numbers.items()}
            self.say(f"building with {len(planted)} mutants")
            blamed = self.copy.build(self.copy.plant(planted),
                                     self.options.targets)
            if not blamed:
                self.say(f"{dropped} others did not compile")
                return planted
            for number in blamed:
                mutant = planted[number]
                self.keep(mutant, UNCOMPILED, "", 0)
                sample.drop(mutant)
                extra = [other for other in extra if other != mutant]
                del numbers[mutant]
                dropped += 1

    def attempt(self, number, mutant, tests):
        if not any(number in test.reached for test in tests):
            return self.keep(mutant, UNREACHED, "", 0)
        outcome, seconds = trial.try_mutant(number, tests)
        if outcome is None:
            return self.keep(mutant, LIVING, "", seconds)
        return self.keep(mutant, DEAD, f"{outcome.test}: {outcome.how}",
                         seconds)

    def chosen(self, groups, known):
        """(sample, those of --only that are not in it)."""
        compiling = {path: [mutant for mutant in mutants if
                            known.get(mutant.id, {}).get("state") != UNCOMPILED]
                     for path, mutants in groups.items()}
        sample = Sample(compiling, self.options.sample, self.options.seed)
        sample.fill()
        extra = [mutant for mutants in groups.values() for mutant in mutants
                 if mutant.id in self.options.only and
                 mutant not in sample.mutants()]
        return sample, extra

    def stale_claims(self, groups):
        """Claims on the files looked at that name no mutant."""
        found = {mutant.claim for mutants in groups.values()
                 for mutant in mutants}
        return [claim for claim in self.claims if claim not in found and
                group_of(claim[0], self.options.paths) is not None]

    def to_try(self, planted, known):
        """The numbers of the mutants to try now."""
        only = self.options.only
        for number, mutant in planted.items():
            claimed = mutant.claim in self.claims
            if only:
                if mutant.id in only:
                    yield number
            elif claimed == self.options.claims and (
                    self.options.claims or mutant.id not in known):
                yield number

    def try_all(self, planted, numbers, known):
        tests = trial.list_tests(self.copy.build_folder)
        coverage = Coverage(self.folder / "coverage.json", 1 + max(planted),
                            self.options.jobs)
        tests, unsound = coverage.trace(tests, self.say)
        for test in unsound:
            self.say(f"left out, as it fails without a mutant: {test.name}")
        self.say(f"{len(numbers)} mutants to try, {len(tests)} tests")
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            jobs = [pool.submit(self.attempt, number, planted[number], tests)
                    for number in numbers]
            for done, job in enumerate(
                    concurrent.futures.as_completed(jobs), 1):
                result = job.result()
                known[result["id"]] = result
                self.say(f"{done}/{len(jobs)} {result['id']} "
                         f"{result['state']} {result['by']}")

    def judge(self, groups, planted, known):
        """(mutant, group, state, by) of all planted that were tried or are
        claimed."""
        group = {mutant: path for path, mutants in groups.items()
                 for mutant in mutants}
        for mutant in planted.values():
            if mutant.claim in self.claims:
                yield mutant, group[mutant], CLAIMED, ""
            elif mutant.id in known:
                result = known[mutant.id]
                yield mutant, group[mutant], result["state"], result["by"]


def refuted(run, planted, known):
    """Of --claims: the claimed mutants that a test told apart."""
    return [mutant for mutant in planted.values()
            if mutant.claim in run.claims and
            known.get(mutant.id, {}).get("state") == DEAD]


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
    wrong = refuted(run, planted, known)
    for mutant in wrong:
        print(f"{known[mutant.id]['by']} tells apart what docs/mutants.md says "
              f"cannot be told: {mutant.describe()}")
    score = whole.score()
    print(f"{whole.dead} of {whole.dead + whole.living} that change behaviour "
          f"die; {whole.claimed} cannot change it; "
          f"{(time.monotonic() - run.start) / 60:.0f} minutes")
    well = not stale and not wrong and score is not None and score >= NEEDED
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BuildError, ClaimError, FileNotFoundError) as fault:
        sys.exit(f"scripts/mutate: {fault}")
