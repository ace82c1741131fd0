"""Which test reaches which mutants, and what it costs."""

import concurrent.futures
import hashlib
import json
import pathlib

import trial


class Coverage:
    """Traces every test once. What a program's tests reach is kept in `path`
    until the program is another."""

    def __init__(self, path, count, workers):
        self.path = path
        self.count = count
        self.workers = workers
        self.known = {}
        if path.exists():
            self.known = json.loads(path.read_text(encoding="utf-8"))

    def trace(self, tests, say):
        """Fills in seconds and reached; returns the tests that reach a
        mutant: those that pass without one, and those that do not."""
        programs = {}
        for test in tests:
            programs.setdefault(test.program, []).append(test)
        digests = {program: digest(program) for program in programs}
        self.known = {key: value for key, value in self.known.items()
                      if key in digests.values()}
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            jobs = {pool.submit(self.trace_program, own): program
                    for program, own in programs.items()
                    if digests[program] not in self.known}
            for job in concurrent.futures.as_completed(jobs):
                program = jobs[job]
                self.known[digests[program]] = job.result()
                self.path.write_text(json.dumps(self.known), encoding="utf-8")
                say(f"traced {pathlib.Path(program).name}: "
                    f"{len(job.result())} tests reach a mutant")
        return self.apply(programs, digests)

    def trace_program(self, tests):
        """{name: [seconds, reached, failure or None]} of the tests that reach a
        mutant."""
        outcome, reached = trial.traced(tests[:1], self.count, names="*")
        if outcome.passed and not reached:
            return {}
        found = {}
        for test in tests:
            outcome, reached = trial.traced([test], self.count)
            if reached or not outcome.passed:
                found[test.name] = [
                    outcome.seconds, sorted(reached),
                    None if outcome.passed else outcome.how]
        return found

    def apply(self, programs, digests):
        sound, unsound = [], []
        for program, tests in programs.items():
            found = self.known[digests[program]]
            for test in tests:
                if test.name not in found:
                    continue
                test.seconds, reached, failure = found[test.name]
                test.reached = frozenset(reached)
                (unsound if failure else sound).append(test)
        return sound, unsound


def digest(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
