"""banyan run on a target that is read from disk: killed, resumed, two at a time on
one file, with drafters whose weights count; always the records of the target in
memory.

    run_streamed_test.py PROGRAM

The working directory is the project's root.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from run_case import PROGRAM, RunCase, in_yaml, run  # noqa: E402

TARGET = pathlib.Path("models/pycode-target").resolve()
DRAFT = pathlib.Path("models/pycode-draft-1").resolve()
PROMPTS = 4
CELLS = 2 * 4


class StreamedTest(RunCase):

    def setUp(self):
        super().setUp()
        self.pack = self.folder / "target.pack"
        done = run("pack", "--model", TARGET, "--weights", "bf16", "--out",
                   self.pack)
        self.assertEqual(done.returncode, 0, done.stderr)
        dice = random.Random(1)
        self.write_prompts(
            {"id": f"p{i}", "ids": [1] + [dice.randrange(3, 400)
                                          for _ in range(5)]}
            for i in range(PROMPTS))
        self.out = self.folder / "out"

    def write(self, memory=None):
        target = {"directory": str(self.pack)}
        if memory is not None:
            target["memory"] = memory
        self.file.write_text(f"""
question: Does a target on disk say the same?
target: {json.dumps(target)}
workload: {{file: prompts.jsonl}}
limits: {{max_new_tokens: 16, ignore_eos: true}}
methods:
  small:
    models: {{draft: {{directory: {in_yaml(DRAFT)}}}}}
    drafters: [{{name: small_model, model: draft}}]
    policy: {{name: chain, nodes: 3}}
    verifier: {{name: multi_round}}
  copy:
    models: {{copy: {{directory: target, weights: q8}}}}
    drafters: [{{name: skip, weights: copy}}]
    policy: {{name: chain, nodes: 3}}
    verifier: {{name: multi_round}}
  warm:
    drafters: [{{name: ngram, reset: never, history: 0}}]
    policy: {{name: chain, nodes: 3}}
    verifier: {{name: match}}
matrix:
  sampling.temperature: [0, 1]
""")

    def least(self):
        """The least memory that all cells can have, as a refusal tells it."""
        self.write("1KB")
        done = run("check", self.file)
        self.assertEqual(done.returncode, 2, done.stdout)
        found = [float(match) for match in re.findall(
            r"expected memory of at least ([\d.]+) MB", done.stderr)]
        self.assertGreater(len(found), 0, done.stderr)
        self.assertIn("of drafters", done.stderr)
        self.assertIn("of copies of layers", done.stderr)
        return f"{max(found):.1f}MB"

    def trees(self, folder):
        """What was drafted, round by round, and what was said."""
        return {key: [record["tokens"]] + [made["tokens"]
                                           for made in record["rounds"]]
                for key, record in self.records(folder).items()}

    def test_records_are_those_of_the_target_in_memory(self):
        self.write()
        whole = self.folder / "whole"
        self.run_all(whole)
        self.write(self.least())
        self.run_all(self.out)
        found = self.trees(self.out)
        self.assertEqual(len(found), CELLS * PROMPTS)
        for key, value in self.trees(whole).items():
            if not key[0].startswith("copy"):
                self.assertEqual(value, found[key])
            elif key[0].endswith("=0"):  # its embedding drafts other trees
                self.assertEqual(value[0], found[key][0])
        context = json.loads(run("export", self.out, "--format", "context")
                             .stdout)["context"]
        for cell in context["cells"]:
            self.assertGreater(int(cell["target"]["disk_bytes"]), 0)

    def test_kills_lose_nothing(self):
        self.write(self.least())
        whole = self.folder / "whole"
        self.run_all(whole)
        expected = self.trees(whole)
        self.assertEqual(len(expected), CELLS * PROMPTS)
        dice = random.Random(2)
        counts = set()
        for _ in range(6):
            process = subprocess.Popen(
                [PROGRAM, "run", str(self.file), "--out", str(self.out)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.wait_for_more(process)
            time.sleep(dice.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
            process.wait()
            found = self.trees(self.out)
            counts.add(len(found))
            for key, value in found.items():
                self.assertEqual(value, expected[key])
        self.assertGreater(len(counts), 2)
        self.run_all(self.out)
        self.assertEqual(self.trees(self.out), expected)

    def wait_for_more(self, process):
        size = self.size()
        while process.poll() is None and self.size() <= size:
            time.sleep(0.001)

    def size(self):
        return sum(path.stat().st_size for path in self.out.glob("*.banyan"))

    def test_devices_that_do_not_stream_are_refused_by_a_check(self):
        self.write("1GB")
        done = run("check", self.file, "--device", "reference")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("has no bound on memory; expected the device cpu",
                      done.stderr)

    def test_copies_of_no_stated_format_are_refused(self):
        self.write("1KB")
        self.file.write_text(
            self.file.read_text().replace("weights: q8", "weights: auto"))
        done = run("check", self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected one format of weights, such as q8, for all "
                      "copies", done.stderr)

    def test_two_programs_read_one_file(self):
        self.write(self.least())
        outs = [self.folder / name for name in "ab"]
        processes = [subprocess.Popen(
            [PROGRAM, "run", str(self.file), "--out", str(out)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for out in outs]
        for process in processes:
            self.assertEqual(process.wait(), 0, process.stderr.read())
            process.stderr.close()
        self.assertEqual(*map(self.trees, outs))

    def test_a_changed_file_ends_the_run_and_a_repaired_one_goes_on(self):
        self.write(self.least())
        whole = self.folder / "whole"
        self.run_all(whole)
        expected = self.trees(whole)
        process = subprocess.Popen(
            [PROGRAM, "run", str(self.file), "--out", str(self.out)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(3):  # the context comes first
            self.wait_for_more(process)
        good = self.pack.read_bytes()
        with self.pack.open("r+b") as file:  # in place: the file that is open
            file.seek(len(good) // 2)
            file.write(bytes(len(good) // 4))
        told = process.communicate()[1]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(str(self.pack), told)
        before = self.trees(self.out)
        self.assertGreater(len(before), 0)
        self.pack.write_bytes(good)
        self.run_all(self.out)
        self.assertEqual(self.trees(self.out), expected)

    def run_and_replace(self, path, other):
        """Renames `other` to `path` while a run is under way; how that ended,
        and what records there are."""
        process = subprocess.Popen(
            [PROGRAM, "run", str(self.file), "--out", str(self.out)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(3):  # the context comes first
            self.wait_for_more(process)
        os.replace(other, path)
        told = process.communicate()[1]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(f"{path}: expected the file as it was when the run began, "
                      "found it replaced since", told)
        return self.trees(self.out)

    def test_a_replaced_pack_ends_the_run(self):
        self.write(self.least())
        whole = self.folder / "whole"
        self.run_all(whole)
        expected = self.trees(whole)
        other = self.folder / "other"
        shutil.copytree(TARGET, other)
        with (other / "model.safetensors").open("r+b") as file:
            file.seek(-100_000, os.SEEK_END)
            file.write(bytes(50_000))
        done = run("pack", "--model", other, "--weights", "bf16", "--out",
                   self.folder / "other.pack")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.run_and_replace(self.pack, self.folder / "other.pack")
        self.assertGreater(len(found), 0)
        self.assertLess(len(found), len(expected))
        for key, value in found.items():
            self.assertEqual(value, expected[key])

    def test_a_replaced_drafter_ends_the_run(self):
        draft = self.folder / "draft"
        shutil.copytree(DRAFT, draft)
        self.write(self.least())
        self.file.write_text(
            self.file.read_text().replace(in_yaml(DRAFT), in_yaml(draft)))
        weights = draft / "model.safetensors"
        shutil.copy(weights, self.folder / "same")  # even by the same bytes
        self.assertGreater(
            len(self.run_and_replace(weights, self.folder / "same")), 0)


if __name__ == "__main__":
    unittest.main()
