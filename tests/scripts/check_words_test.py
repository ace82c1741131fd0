"""Tests of scripts/check_words.py: where words count and where they do not."""

import pathlib
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
import check_words  # noqa: E402 (the path comes first)

WORD = "la" + "w"


class CheckWords(unittest.TestCase):

    def found(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return check_words.check(pathlib.Path(folder))[0]

    def test_prose(self):
        self.assertEqual(self.found("README.md", f"a\nThe {WORD} of p.\n"),
                         [f"README.md:2: '{WORD}'"])
        self.assertEqual(self.found("docs/a.md", "2.1 times\nplain; times plain"),
                         ["docs/a.md:2: 'times plain'"])
        for text in (f"The key `{WORD}`.", f"    {WORD}: x", f"{WORD}_test.cc",
                     f"configs/{WORD}/x.yaml", f"out{WORD}ed"):
            self.assertEqual(self.found("README.md", text), [])

    def test_comments(self):
        for name, text in (("core/a.h", f"int a;  // its {WORD}\n"),
                           ("tests/a.py", f"a = 1  # its {WORD}\n"),
                           ("scripts/a", f"# its {WORD}\n")):
            self.assertEqual(len(self.found(name, text)), 1, name)
        self.assertEqual(self.found("core/a.h", f"int {WORD};  // Calls {WORD}().\n"),
                         [])

    def test_what_the_program_says(self):
        text = f'Say("the {WORD} of p");\n'
        self.assertEqual(len(self.found("experiments/a.cc", text)), 1)
        self.assertEqual(self.found("tests/a.cc", text), [])
        self.assertEqual(self.found("experiments/a.cc", f'Old("{WORD}");\n'), [])

    def test_the_project_has_none(self):
        found, read = check_words.check(PROJECT)
        self.assertEqual(found, [])
        self.assertGreater(read, 1400)


if __name__ == "__main__":
    unittest.main()
