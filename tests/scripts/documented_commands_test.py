"""Holds the commands of README and the other documents against what there is, and runs
those that need nothing but a fresh clone and the program.

    documented_commands_test.py PROGRAM

A command of `banyan` has a subcommand and options that its help knows, one of scripts/ a
script that is there and options of its help; every path of the project that a command
names exists. In README's commands files are put in for what stands for a reader's own;
other commands with words in capitals, and those that read what is not there, are not run.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "training/README.md", "python/README.md",
             *sorted(str(path.relative_to(PROJECT))
                     for path in (PROJECT / "docs").glob("*.md"))]
OURS = ("configs/", "models/", "experiments/", "examples/", "scripts/", "tests/", "docs/")
QUICK = ("list", "exact", "tree", "generate", "check", "text", "run", "report", "export",
         "measure")
FILLED_IN = {"FILE": "configs/hello.yaml", "DIR": "models/pycode-target"}
PROGRAMS = ("banyan", "build/release/banyan")


def commands_of(document):
    """The lines of code blocks that call the program or a script, joined where one goes
    on, each with its number."""
    text = (PROJECT / document).read_text(encoding="utf-8")
    fenced, joined, found = False, "", []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        if not fenced and not line.startswith("    "):
            joined = ""
            continue
        line = joined + re.sub(r"(^| )# .*|(^|\s)#$|\s{2,}# .*", "", line.strip())
        joined = line[:-1] if line.endswith("\\") else ""
        if joined or not re.match(r"(banyan|build/release/banyan|scripts/[\w.]+)( |$)",
                                  line):
            continue
        found.append((number, line.strip()))
    return found


@functools.cache
def help_of(*command):
    return subprocess.run([*command, "--help"], cwd=PROJECT, text=True, check=False,
                          capture_output=True, stdin=subprocess.DEVNULL).stdout


def options(words):
    return [word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)]


def is_placeholder(word):
    return re.search(r"(^|[^\w.])[A-Z][A-Z-]*($|[^\w.-])", word) is not None


def all_commands():
    """Every command with the place where it stands, as the words of a shell."""
    found = []
    for document in DOCUMENTS:
        for number, line in commands_of(document):
            # Ours comes first.
            command = re.split(r" [|>&;] ?| \.\.\.| && ", line)[0]
            try:
                found.append((f"{document}:{number}", line, shlex.split(command)))
            except ValueError:
                continue  # a text that goes on
    return found


def filled_in(line, words):
    """The line with files in the place of words that stand for them."""
    files = dict(FILLED_IN)
    if "exact" in words:
        files["FILE"] = "configs/exact/tree_multi_round.yaml"
    return re.sub(r"(?<![\w./'\"-])(FILE|DIR)(?![\w./-])",
                  lambda word: files[word[1]], line)


def runs_here(line, folder):
    """Whether a command runs in a folder like a fresh clone, in seconds."""
    words = shlex.split(line)
    if (words[0] not in PROGRAMS or words[1:2] == [] or words[1] not in QUICK or
            any(map(is_placeholder, words)) or "ablations" in line):
        return False
    for before, word in zip(words, words[1:]):
        if before == "--model" and not word.startswith("models/"):
            return False
        if word.startswith(("build/", "out/")) and before != "--out" and not (
                folder / word).exists():
            return False
    return True


class DocumentedCommands(unittest.TestCase):

    def test_programs_scripts_and_options_are_there(self):
        commands = all_commands()
        self.assertGreater(len(commands), 50)
        for place, line, words in commands:
            with self.subTest(place, line=line):
                if words[0] in PROGRAMS:
                    subcommand = [word for word in words[1:3]
                                  if re.fullmatch(r"[a-z]+", word)]
                    if subcommand[:1] not in (["text"], ["make"]):
                        subcommand = subcommand[:1]
                    text = help_of(PROGRAM, *subcommand)
                    self.assertIn(" ".join(["banyan", *subcommand]), text)
                else:
                    script = PROJECT / words[0]
                    self.assertTrue(os.access(script, os.X_OK), words[0])
                    if words[0] == "scripts/train":  # its help needs what is installed
                        continue
                    text = help_of(script)
                for option in options(words):
                    self.assertIn(option, text)

    def test_paths_are_there(self):
        paths = 0
        for place, line, words in all_commands():
            for word in words[1:]:
                path = word.partition("=")[2] or word
                if not path.startswith(OURS) or is_placeholder(path) or "*" in path:
                    continue
                with self.subTest(place, line=line):
                    self.assertTrue((PROJECT / path).exists(), path)
                paths += 1
        self.assertGreater(paths, 7)

    def test_those_that_need_nothing_run(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "bin").mkdir()
            (folder / "build/release").mkdir(parents=True)
            (folder / "bin/banyan").symlink_to(PROGRAM)
            (folder / "build/release/banyan").symlink_to(PROGRAM)
            for part in ("configs", "experiments", "models", "tests", "examples"):
                (folder / part).symlink_to(PROJECT / part)
            env = {**os.environ, "BANYAN_HOME": str(PROJECT),
                   "PATH": f"{folder}/bin:{os.environ['PATH']}"}
            ran = 0
            for place, line, words in all_commands():
                if place.startswith("README.md"):
                    line = filled_in(line, words)
                if not runs_here(line, folder):
                    continue
                with self.subTest(place, line=line):
                    done = subprocess.run(
                        ["bash", "-c", line], cwd=folder, text=True, check=False,
                        stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                        env=env)
                    self.assertEqual(done.returncode, 0, done.stderr)
                ran += 1
            print(f"{ran} commands ran")
            self.assertGreater(ran, 10)

    def test_readme_counts_the_parts(self):
        parts = json.loads(subprocess.run(
            [PROGRAM, "list", "--json"], text=True, check=True,
            capture_output=True).stdout)
        said = re.search(r"(\d+) drafters, (\d+) tree policies and (\d+) verifiers",
                         (PROJECT / "README.md").read_text(encoding="utf-8"))
        self.assertIsNotNone(said)
        self.assertEqual([int(number) for number in said.groups()],
                         [len(parts[kind])
                          for kind in ("drafters", "policies", "verifiers")])


if __name__ == "__main__":
    unittest.main()
