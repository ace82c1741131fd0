"""Runs tests against chosen mutants."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from render import MOST_MUTANTS

FILTER = "--gtest_filter="
FAILED = re.compile(r"^\[  FAILED  \] ([^\s,]+)", re.MULTILINE)
RUNNING = re.compile(r"^\[ RUN      \] (\S+)", re.MULTILINE)
MEMORY = 8 << 30  # bytes; a loop that only grows ends there
FIRST_BATCH = 0.5  # seconds of tests in the first process, then doubled
# Of processor time, so that a busy machine kills nobody.
PATIENCE = 4
GRACE_SECONDS = 5
NO_LIMIT = 3600
WAIT_SECONDS = 1200  # of the clock: for a process that only waits


class Test:
    """One test case of one program, or a script's test as a whole."""

    def __init__(self, program, name, folder, command=()):
        """`command`: of a test that is not GoogleTest's."""
        self.program = program
        self.command = list(command)
        self.name = name
        self.folder = folder
        self.seconds = 0.0
        self.reached = frozenset()


# How a user or a machine that goes down ends a process: no finding of a test.
FROM_OUTSIDE = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):
    """A test was ended from outside."""


class Outcome:
    """How a process of tests ended."""

    def __init__(self, status, output, seconds, script=None):
        """`script`: the test's name if it is a script's."""
        self.passed = status == 0
        self.seconds = seconds
        failed = FAILED.search(output) or None
        running = RUNNING.findall(output)
        self.test = script or (failed.group(1) if failed else
                               running[-1] if running else
                               "before the first test")
        self.out_of_time = status in (-signal.SIGXCPU, -signal.SIGKILL)
        self.how = ("failed" if failed else
                    f"signal {-status}" if status < 0 else f"exit {status}")


def list_tests(build_folder):
    """Every case of the GoogleTest programs that ctest knows, and every script
    that is given the program `banyan`."""
    banyan = str(pathlib.Path(build_folder) / "banyan")
    shown = subprocess.run(
        ["ctest", "--test-dir", build_folder, "--show-only=json-v1"],
        check=True, capture_output=True, text=True).stdout
    tests = []
    for entry in json.loads(shown)["tests"]:
        command = entry.get("command", [])
        names = [word[len(FILTER):] for word in command
                 if word.startswith(FILTER)]
        if not names and banyan not in command:
            continue
        folder = next((p["value"] for p in entry["properties"]
                       if p["name"] == "WORKING_DIRECTORY"), build_folder)
        if names:
            tests.append(Test(command[0], names[0], folder))
        else:
            script = next(word for word in command if word.endswith(".py"))
            tests.append(Test(script, entry["name"], folder, command))
    return tests


def within_limits(command, seconds):
    processor = int(seconds) + 1
    return ["prlimit", f"--cpu={processor}:{processor + 1}",
            f"--as={MEMORY}", "--core=0", *command]


def run_tests(tests, limit, mutant=None, trace=None, names=None):
    """Runs `tests`, of one program, until one fails. `names`: a filter
    instead of theirs."""
    environment = dict(os.environ)
    environment.pop("BANYAN_MUTANT", None)
    if mutant is not None:
        environment["BANYAN_MUTANT"] = str(mutant)
    if trace is not None:
        environment["BANYAN_MUTANT_TRACE"] = str(trace)
    chosen = names or ":".join(test.name for test in tests)
    script = tests[0].command
    command = script or [tests[0].program, FILTER + chosen, "--gtest_fail_fast",
                         "--gtest_also_run_disabled_tests"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            within_limits(command, limit), cwd=tests[0].folder,
            env=environment, stdout=output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL)
        status, used = wait(process, 100 * limit + WAIT_SECONDS)
        if -status in FROM_OUTSIDE:
            raise Interrupted(f"{tests[0].program} was ended by signal "
                              f"{-status}, which says nothing; what was found "
                              "so far is kept")
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Outcome(status, text, used, tests[0].name if script else None)


def wait(process, wall_seconds):
    """(status, processor seconds); ends a process that only waits."""
    deadline = time.monotonic() + wall_seconds
    delay = 0.002
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > deadline:
            process.kill()
            deadline = float("inf")
        time.sleep(delay)
        delay = min(2 * delay, 0.1)


def traced(tests, limit, names=None):
    """(outcome, the numbers of the mutants reached)."""
    with tempfile.NamedTemporaryFile() as trace:
        trace.write(bytes(MOST_MUTANTS + 1))
        trace.flush()
        outcome = run_tests(tests, limit, trace=trace.name, names=names)
        reached = pathlib.Path(trace.name).read_bytes()
    return outcome, frozenset(number for number, byte in enumerate(reached)
                              if byte)


def batches(tests):
    """Cheapest first: lists of tests of one program, each list dearer."""
    waiting = sorted(tests, key=lambda test: (test.seconds, test.program,
                                              test.name))
    budget = FIRST_BATCH
    while waiting:
        taken = [waiting.pop(0)]
        seconds = taken[0].seconds
        while waiting and seconds + waiting[0].seconds <= budget:
            seconds += waiting[0].seconds
            taken.append(waiting.pop(0))
        programs = {}
        for test in taken:
            programs.setdefault(test.program, []).append(test)
        yield from programs.values()
        budget *= 2


def try_mutant(number, tests):
    """(outcome or None, seconds): the first failure among the tests that reach
    the mutant."""
    seconds = 0.0
    for batch in batches([test for test in tests if number in test.reached]):
        limit = PATIENCE * sum(test.seconds for test in batch) + GRACE_SECONDS
        outcome = run_tests(batch, limit, mutant=number)
        seconds += outcome.seconds
        if not outcome.passed:
            return outcome, seconds
    return None, seconds
