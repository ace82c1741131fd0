"""Tests that the tables of docs/presets.md come from records alone.

    python3 methods_table_test.py PROGRAM
"""

import csv
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import methods_table  # noqa: E402
import system_python  # noqa: E402

system_python.require("google.protobuf")
PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None


class MethodsTable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.chdir(ROOT)
        cls.scratch = tempfile.TemporaryDirectory()
        config = os.path.join(cls.scratch.name, "two.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""
question: Which of these?
compare: {{reference: chain}}
target: {{directory: {ROOT}/models/pycode-target}}
workload: {{file: {ROOT}/experiments/workloads/pycode.jsonl, prompts: 2}}
limits: {{max_new_tokens: 12}}
methods:
  chain: {{preset: {ROOT}/configs/methods/chain.yaml}}
  bild: {{preset: {ROOT}/configs/methods/bild.yaml}}
  itself: {{preset: {ROOT}/configs/methods/self_q8_chain.yaml}}
matrix: {{sampling.temperature: [0, 1]}}
""")
        cls.out = os.path.join(cls.scratch.name, "out")
        subprocess.run([PROGRAM, "run", config, "--out", cls.out], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def written(self, text, *options):
        path = os.path.join(self.scratch.name, "presets.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        made = subprocess.run(
            [sys.executable, "scripts/methods_table.py", PROGRAM, self.out,
             "--file", path, "--measured", path + ".json", *options], capture_output=True, text=True, check=False)
        with open(path, encoding="utf-8") as file:
            return made, file.read()

    def test_has_a_row_for_each_cell_that_drafts(self):
        before = f"A\n{methods_table.BEGIN}\nold\n{methods_table.END}\nB\n"
        made, text = self.written(before)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("6 rows", made.stdout)
        self.assertTrue(text.startswith("A\n"))
        self.assertTrue(text.endswith(methods_table.END + "\nB\n"))
        self.assertNotIn("old", text)
        self.assertNotIn("\n| plain ", text)
        for temperature in ("0", "1"):
            self.assertIn(f"### pycode-target, temperature {temperature}", text)
        self.assertEqual(len(re.findall(r"^\| chain \| yes ", text, re.M)), 2)
        self.assertEqual(len(re.findall(r"^\| bild \| \*\*no\*\* ", text, re.M)),
                         2)
        # No cost is stated for the target's own pass in fewer bits.
        self.assertEqual(len(re.findall(r"^\| chain \|.*\d\] \|$", text, re.M)),
                         2)
        self.assertEqual(len(re.findall(r"^\| itself \|.*\|  \|$", text, re.M)),
                         2)
        # A second run changes nothing.
        self.assertEqual(self.written(text)[1], text)

    def test_keeps_the_rows_that_are_not_measured_anew(self):
        full = self.written(f"{methods_table.BEGIN}\n{methods_table.END}\n")[1]
        head, _, rest = full.partition("| chain |")
        other = "| other | yes | 99.00 | 1 / 99 | 1.00 [0.90, 1.10] |  |\n"
        changed = f"{head}{other}| chain | yes | 77.00 |{rest}"
        made, text = self.written(changed, "--keep")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("7 rows", made.stdout)
        self.assertNotIn("77.00", text)
        # Sorted by tokens per pass: the first row of its table.
        first = "pycode-target, temperature 0\n"
        begin = text.index("| ---", text.index(first))
        self.assertEqual(text[text.index("\n", begin) + 1:][:len(other)], other)
        self.assertEqual(text.replace(other, ""), full)
        self.assertNotIn("other", self.written(changed)[1])

    def test_has_the_numbers_of_the_report(self):
        report = subprocess.run(
            [PROGRAM, "report", self.out, "--format", "csv"], check=True,
            capture_output=True, text=True).stdout
        speeds = [f"{float(row['value']):.2f}"
                  for row in csv.DictReader(io.StringIO(report))
                  if row["metric"] == "tokens_per_pass"
                  and not row["cell"].startswith("plain")]
        self.assertEqual(len(speeds), 6)
        rows = methods_table.rows_of(PROGRAM, self.out)
        self.assertEqual(
            sorted(speeds),
            sorted(f"{row['tokens']['value']:.2f}" for row in rows))

    def test_every_preset_is_measured(self):
        presets = {name[:-len(".yaml")]
                   for name in os.listdir("configs/methods")} - {"plain"}

        def listed(name):
            with open(f"configs/{name}.yaml", encoding="utf-8") as file:
                return set(re.findall(r"preset: (?:methods/)?(\w+)",
                                      file.read()))
        self.assertEqual(listed("methods_2m"), presets)
        # Layers that `grow` adds change nothing; the vectors of pass do not grow.
        self.assertEqual(presets - listed("methods_110m"),
                         {"early_exit", "early_exit_settled", "skip", "pass"})
        # No drafter ships for these, nor an index.
        self.assertEqual(presets - listed("methods_smollm2"),
                         {"eagle1", "eagle2", "pass", "rest"})

    def test_needs_its_markers(self):
        made, text = self.written("no markers\n")
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("no '<!-- from records", made.stderr)
        self.assertEqual(text, "no markers\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
