"""One call of scripts/mutate: finds, plants, tries and judges."""

import concurrent.futures
import hashlib
import json
import pathlib
import threading
import time

import sites
import trial
from copy_tree import Copy
from mutant import Mutant
from reach import Coverage
from report import CLAIMED, DEAD, LIVING, UNCOMPILED, UNREACHED
from sample import Sample, group_of, read_claims, sources


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

    def minutes(self):
        return (time.monotonic() - self.start) / 60

    def say(self, text):
        print(f"{self.minutes():6.1f} min  {text}", flush=True)

    def find(self):
        """{path: its mutants}, found again only where a file has changed."""
        files = sources(self.root, self.options.paths, self.copy.names)
        self.copy.refresh(planted=files)
        self.copy.configure(files)
        self.copy.generate()
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
        """The result if a test fails; otherwise None and whether one reached
        the mutant."""
        outcome, seconds = trial.try_mutant(number, tests)
        if outcome is None:
            return None, any(number in test.reached for test in tests)
        return self.keep(mutant, DEAD, f"{outcome.test}: {outcome.how}",
                         seconds), True

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
        coverage = Coverage(self.folder / "coverage.json", self.options.jobs,
                            self.copy.build_folder / "banyan")
        tests = trial.list_tests(self.copy.build_folder)
        if self.options.targets:  # others may be left from an earlier build
            tests = [test for test in tests if pathlib.Path(
                test.program).name in self.options.targets]
        short, long = coverage.split(tests)
        living = {number: False for number in numbers}  # to: is it reached
        stages = [("short", short)]
        if not self.options.short:
            # One by one: each meets only what the others let live.
            stages += [(pathlib.Path(own[0].program).name, [own])
                       for own in long]
        for name, programs in stages:
            if living:
                self.stage(name, coverage, programs, planted, living, known)
        for number, reached in living.items():
            state = LIVING if reached else UNREACHED
            result = {"state": state, "by": ""}
            if not self.options.short:
                result = self.keep(planted[number], state, "", 0)
            known[planted[number].id] = result

    def stage(self, name, coverage, programs, planted, living, known):
        """Takes those that die from `living`."""
        tests, unsound = coverage.trace(programs)
        for test in unsound:
            self.say(f"left out, as it fails without a mutant: {test.name}")
        self.say(f"{name}: {len(living)} mutants meet {len(tests)} tests")
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            jobs = {pool.submit(self.attempt, number, planted[number], tests):
                    number for number in living}
            for job in concurrent.futures.as_completed(jobs):
                number = jobs[job]
                try:
                    result, reached = job.result()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
                if result is None:
                    living[number] |= reached
                    continue
                del living[number]
                known[result["id"]] = result
                self.say(f"{result['id']} {result['by']}, "
                         f"{len(living)} to go")

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

    def refuted(self, planted, known):
        """The mutants claimed to change nothing that a test told apart."""
        return [mutant for mutant in planted.values()
                if mutant.claim in self.claims and
                known.get(mutant.id, {}).get("state") == DEAD]
