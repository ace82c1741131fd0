"""Every script of scripts/ looks at its arguments before anything is installed, built or
written: --help prints the text that opens the script, and what is unknown is refused."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# Files that others source, read or import.
PARTS = {"common.sh", "layers.txt", "slurm_report.sh", "slurm_task.sh", "slurm_words.py",
         "system_python.py"}
# What installs, builds or downloads. Each stand-in leaves a mark.
TOOLS = ("apt-get", "c++", "clang-format-14", "cmake", "ctest", "curl", "dpkg-query",
         "git", "ldd", "nice", "ninja", "nvcc", "nvidia-smi", "pip", "pip3", "protoc",
         "run-clang-tidy-14", "sbatch", "sha256sum", "strip", "wget")
TOOL = """#!/bin/sh
echo "$0 $*" >>"{marks}"
exit 1
"""
PYTHON = """#!/bin/sh
case " $* " in
  *" -m venv "* | *" -m pip "*) echo "python3 $*" >>"{marks}"; exit 1 ;;
esac
exec "{python}" "$@"
"""
RECIPE = ["pretrain", "--corpus", "a", "--tokenizer", "b", "--out", "c"]


def scripts():
    return sorted(path.name for path in (PROJECT / "scripts").iterdir()
                  if path.is_file() and path.name not in PARTS)


def first_line(path):
    """Of the text that opens a script."""
    text = path.read_text(encoding="utf-8")
    if "python3" in text.split("\n", 1)[0] or path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)).split("\n", 1)[0]
    return text.split("\n", 2)[1].lstrip("# ")


class ArgumentsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.root = self.folder / "project"
        self.marks = self.folder / "marks"
        for name in "scripts", "training", "cmake", "experiments/workloads":
            shutil.copytree(PROJECT / name, self.root / name,
                            ignore=shutil.ignore_patterns("__pycache__", "results"))
        (self.folder / "bin").mkdir()
        for name in (*TOOLS, "python3"):
            tool = self.folder / "bin" / name
            tool.write_text((PYTHON if name == "python3" else TOOL).format(
                marks=self.marks, python=sys.executable))
            tool.chmod(0o755)
        self.before = self.files()

    def files(self):
        return sorted(self.root.rglob("*"))

    def run_script(self, name, *arguments):
        """Fails if the script reaches a tool, or makes a file."""
        path = self.root / "scripts" / name
        start = [] if os.access(path, os.X_OK) else [sys.executable]
        done = subprocess.run(
            [*start, path, *arguments], check=False, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, cwd=self.folder,
            env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder),
                 "PYTHONDONTWRITEBYTECODE": "1"})
        said = done.stdout + done.stderr
        marks = self.marks.read_text() if self.marks.exists() else ""
        self.marks.unlink(missing_ok=True)
        before, self.before = self.before, self.files()
        self.assertEqual(marks, "", said)
        self.assertEqual(self.before, before)
        self.assertNotIn("Traceback", said)
        return done

    def refused(self, name, *arguments, words=""):
        done = self.run_script(name, *arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertNotEqual(done.stderr, "")
        self.assertIn(words, done.stderr)

    def test_help_prints_the_text_that_opens_the_script(self):
        self.assertGreater(len(scripts()), 30)
        for name in scripts():
            for word in "--help", "-h":
                with self.subTest(name):
                    done = self.run_script(name, word)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stderr, "")
                    self.assertIn(first_line(PROJECT / "scripts" / name), done.stdout)

    def test_an_unknown_option_is_refused(self):
        for name in scripts():
            with self.subTest(name):
                self.refused(name, "--nonsense")

    def test_values_that_make_no_sense_are_refused(self):
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text('{"prompt": "a"}\n{"other": 1}\n')
        empty = self.folder / "empty.jsonl"
        empty.write_text("\n")
        for words, *command in (
                ("'x'", "peers", "--prompts", "x"),
                ("--prompts from 1", "peers", "--prompts", "0"),
                ("unrecognized arguments: x", "peers", "x"),
                ("'nowhere.jsonl'", "peers", "--workload", "nowhere.jsonl"),
                ("prompts.jsonl:2: expected a JSON object", "peers", "--workload",
                 "prompts.jsonl"),
                ("found none", "peers", "--workload", "empty.jsonl"),
                ("'x'", "mutate", "--jobs", "x"),
                ("one set", "setup", "format", "tidy"),
                ("FOLDER alone", "gpu-bundle"),
                ("FOLDER alone", "gpu-bundle", "a", "b"),
                ("no step nonsense", "gpu_check", "nonsense"),
                ("'nonsense'", "train", "nonsense"),
                ("RECIPE", "train"),
                ("no more arguments", "train", "--setup", "x"),
                ("--nonsense", "train", *RECIPE, "--nonsense"),
                ("'x'", "train", *RECIPE, "--layers", "x")):
            with self.subTest(command=command):
                self.refused(*command, words=words)

    def test_every_recipe_has_help_without_its_environment(self):
        recipes = subprocess.run(
            [sys.executable, "-B", "-c", "import training.__main__ as main\n"
             "print(*main.RECIPES)"], cwd=PROJECT, check=True, capture_output=True,
            text=True).stdout.split()
        self.assertGreater(len(recipes), 10)
        for recipe in recipes:
            with self.subTest(recipe):
                done = self.run_script("train", recipe, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(first_line(PROJECT / f"training/{recipe}.py"), done.stdout)
                self.assertIn("--", done.stdout)

    def test_arguments_in_order_reach_the_set_up(self):
        """Else the stand-ins would show nothing."""
        for tool, *command in (("python3 -m venv", "train", *RECIPE),
                               ("python3 -m venv", "train", "--setup"),
                               ("cmake", "peers"), ("dpkg-query", "mutate", "--list"),
                               ("dpkg-query", "format"), ("dpkg-query", "tidy"),
                               ("cmake", "gpu-bundle", "out")):
            with self.subTest(command=command):
                with self.assertRaisesRegex(AssertionError, tool):
                    self.run_script(*command)


if __name__ == "__main__":
    unittest.main()
