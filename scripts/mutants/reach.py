"""Which test reaches which mutants, and what it costs."""

import concurrent.futures
import hashlib
import json
import pathlib

import trial

# Of processor time: a program that takes longer waits until the others are
# through, and meets only the mutants that they let live.
LONG_SECONDS = 5


class Coverage:
    """Traces tests. What a program's tests reach is kept in `path` until the
    program is another."""

    def __init__(self, path, workers, banyan):
        self.path = path
        self.banyan = banyan  # the program
        self.workers = workers
        self.known = {}
        if path.exists():
            self.known = json.loads(path.read_text(encoding="utf-8"))

    def split(self, tests):
        """(short, long) programs that reach a mutant: lists of the tests of
        each."""
        programs = {}
        for test in tests:
            programs.setdefault(test.program, []).append(test)
        # A test may start `banyan`, whose mutants it then reaches.
        banyan = (digest(self.banyan),) if self.banyan.exists() else ()
        self.digests = {program: "".join((digest(program), *banyan))
                        for program in programs}
        present = set(self.digests.values())
        self.known = {key: value for key, value in self.known.items()
                      if key in present}
        self.each(programs.values(), self.probe)
        short, long = [], []
        for program, own in programs.items():
            entry = self.known[self.digests[program]]
            if entry["reaches"]:
                (long if entry["long"] else short).append(own)
        return short, long

    def each(self, programs, work):
        """Does `work` where nothing is known yet, and keeps it."""
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            jobs = {pool.submit(work, own): self.digests[own[0].program]
                    for own in programs}
            for job in concurrent.futures.as_completed(jobs):
                self.known[jobs[job]] = job.result()
                self.path.write_text(json.dumps(self.known), encoding="utf-8")

    def probe(self, tests):
        entry = self.known.get(self.digests[tests[0].program])
        if entry is not None:
            return entry
        outcome, reached = trial.traced(tests[:1], LONG_SECONDS, names="*")
        return {"long": outcome.out_of_time, "reaches": bool(reached),
                "tests": None}

    def trace(self, programs):
        """Fills in what the tests reach and cost; returns those that pass
        without a mutant, and those that do not."""
        self.each(programs, self.trace_program)
        sound, unsound = [], []
        for tests in programs:
            found = self.known[self.digests[tests[0].program]]["tests"]
            for test in tests:
                test.seconds, reached, passed = found[test.name]
                test.reached = frozenset(reached)
                (sound if passed else unsound).append(test)
        return sound, unsound

    def trace_program(self, tests):
        entry = dict(self.known[self.digests[tests[0].program]])
        if entry["tests"] is None:
            entry["tests"] = {}
            for test in tests:
                outcome, reached = trial.traced([test], trial.NO_LIMIT)
                entry["tests"][test.name] = [outcome.seconds, sorted(reached),
                                             outcome.passed]
        return entry


def digest(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
