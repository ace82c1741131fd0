"""made_for.json: for which target a drafter was made, as the program reads it."""

import argparse
import json
import pathlib
import tempfile
import unittest

from training import made_for
from training.files import read_json

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


class MadeForTest(unittest.TestCase):

    def test_names_tokens_as_the_program_does(self):
        """By the lists of draft tokens, which the program wrote."""
        tokenizer = read_json(MODELS / "smollm2-draft-1/tokenizer.json")
        vocabulary = read_json(MODELS / "smollm2-draft-1/vocabulary.json")
        self.assertEqual(made_for.name_of_tokens(tokenizer), vocabulary["tokenizer"])

    def test_writes_what_the_shipped_files_say(self):
        for folder, drafter in (("pycode-draft-1", "small_model"),
                                ("pycode-draft-2", "boosted"),
                                ("pycode-medusa", "medusa"),
                                ("pycode-eagle3", "eagle3"),
                                ("pycode-lookahead", "pass")):
            with tempfile.TemporaryDirectory() as out:
                made_for.write(out, MODELS / "pycode-target", drafter)
                written = json.loads((pathlib.Path(out) / made_for.FILE).read_text())
            self.assertEqual(written, read_json(MODELS / folder / made_for.FILE), folder)

    def test_every_recipe_has_a_word(self):
        words = {recipe: made_for.drafter_of(recipe, argparse.Namespace(version=3))
                 for recipe in ("distill", "boost", "medusa", "eagle", "lookahead")}
        self.assertEqual(words["eagle"], "eagle3")
        self.assertEqual(len(set(words.values())), 5)


if __name__ == "__main__":
    unittest.main()
