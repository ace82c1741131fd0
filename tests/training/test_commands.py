"""The recipes as commands: all of them in a row, and how they complain."""

import pathlib
import subprocess
import sys
import unittest

from tests.training import support
from training.__main__ import RECIPES
from training.shipped import NAMES as MODELS

READY = (pathlib.Path(sys.prefix) == support.ROOT / "build/training-python" or
         (support.ROOT / "build/training-python").resolve() ==
         pathlib.Path(sys.prefix).resolve())


class Shipped(support.FolderTest):

    def test_everything_is_made_once_and_installed(self):
        arguments = ("shipped", "--smoke", "--precision", "f32", "--device",
                     "cpu", "--out", self.folder / "out")
        self.train(*arguments)
        out = self.folder / "out" / "smoke"
        for name in MODELS:
            self.assertTrue((out / name / "README.md").exists(), name)
        before = self.content(out)
        said = self.train(*arguments, "--install", self.folder / "models")
        self.assertEqual(said.count("trained already"), 11)
        self.assertEqual(self.content(out), before)
        for name in MODELS:
            installed = self.content(self.folder / "models" / name)
            self.assertIn("config.json", installed)
            self.assertIn("README.md", installed)
            self.assertNotIn("log.csv", installed)
            for file, (_, content) in installed.items():
                self.assertEqual(content, (out / name / file).read_bytes())

    def content(self, folder):
        """When files were written, but for cards, and what is in them."""
        return {str(path.relative_to(folder)): (
                    path.name == "README.md" or path.stat().st_mtime_ns,
                    path.read_bytes())
                for path in folder.rglob("*") if path.is_file()}


class Complaints(support.FolderTest):

    def test_an_error_is_a_sentence(self):
        done = subprocess.run(
            [sys.executable, "-m", "training", "tokenizer", "--corpus",
             self.folder / "nowhere", "--out", self.folder], cwd=support.ROOT,
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertEqual(
            done.stderr, f"error: {self.folder}/nowhere/train.jsonl: there is "
            "no such file; `corpus` writes it\n")

    def test_shapes_that_do_not_go_together_are_refused(self):
        for changed, message in (
                (("--heads", 3), "3 does not divide --hidden 16"),
                (("--kv-heads", 3), "3 does not divide --heads 2"),
                (("--heads", 16), "heads of odd size 1")):
            self.assertIn(message, self.refused(*support.pretrain(
                support.tiny(), "--out", self.folder / "out", *changed)))

    def test_too_little_text_is_refused(self):
        self.assertIn("fewer than two windows", self.refused(*support.pretrain(
            support.tiny(), "--out", self.folder, "--window", 99999)))


class Script(unittest.TestCase):

    @unittest.skipUnless(READY, "not run by build/training-python")
    def test_scripts_train_names_the_recipes(self):
        done = subprocess.run([support.ROOT / "scripts/train", "--help"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for recipe in RECIPES:
            self.assertRegex(done.stdout, rf"(?m)^ +{recipe}\s")
