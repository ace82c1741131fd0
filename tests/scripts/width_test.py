"""Tests of scripts/width: on a model that ships, with the real program."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([sys.executable, PROJECT / "scripts/width", "--program",
                           PROGRAM, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class WidthTest(unittest.TestCase):

    def test_every_width_and_format_has_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "width.json"
            done = run("--model", PROJECT / "models/pycode-target", "--rounds", 1,
                       "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
        self.assertEqual([row["what"] for row in rows],
                         [f"pycode-target, {weights}, {tokens}"
                          for weights in ("bf16", "q8")
                          for tokens in ("1 token", "16 tokens", "64 tokens",
                                         "256 tokens")])
        for row in rows:
            self.assertGreater(row["ms"], 0)
            self.assertIn(row["what"], done.stdout)
        self.assertEqual(rows[0]["of_one"], 1)
        # A goal that is stated is judged; one that is not, is not.
        for row in rows:
            self.assertEqual(row["goal"] is None, row["result"] == "")

    def test_bad_input_is_refused(self):
        missing = run("--program", "/nowhere/banyan")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("/nowhere/banyan is missing", missing.stderr)
        self.assertNotEqual(run("--model", "/nowhere").returncode, 0)
        set_ = run("--model", PROJECT / "models/pycode-target", "--instruction-set",
                   "MMX")
        self.assertNotEqual(set_.returncode, 0)
        self.assertIn("MMX", set_.stderr)


if __name__ == "__main__":
    unittest.main()
