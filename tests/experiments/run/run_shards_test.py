"""banyan run in shards: cut by prompts and by cells, gone on with on another
machine, ended by a signal; always the tokens of the whole run.

    run_shards_test.py PROGRAM

The working directory is the project's root. `--threads 1` and `--threads 2` stand
for two machines: their times are unlike, their tokens the same.
"""

import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from run_case import PROGRAM, RunCase, in_yaml, run  # noqa: E402

TARGET = pathlib.Path("tests/goldens/checkpoints/llama").resolve()
PROMPTS = 12

EXPERIMENT = f"""
question: Do shards make a run?
target: {{directory: {in_yaml(TARGET)}}}
workload: {{file: prompts.jsonl}}
limits: {{max_new_tokens: 32, ignore_eos: true}}
methods:
  copy:
    models: {{copy: {{directory: target, weights: q8}}}}
    drafters: [{{name: small_model, model: copy}}]
    policy: {{name: expansion, branching: [2, 1]}}
    verifier: {{name: multi_round}}
  ngram:
    drafters: [{{name: ngram, history: 0}}]
    policy: {{name: chain, nodes: 3}}
    verifier: {{name: multi_round}}
matrix:
  sampling.temperature: [0, 1]
"""
WARM = """\
  warm:
    drafters: [{name: ngram, reset: never, history: 0}]
    policy: {name: chain, nodes: 3}
    verifier: {name: match}
matrix:"""


class ShardsTest(RunCase):

    def setUp(self):
        super().setUp()
        self.file.write_text(EXPERIMENT)
        dice = random.Random(1)
        self.write_prompts(
            {"id": f"p{i}", "ids": [1] + [dice.randrange(3, 40)
                                          for _ in range(5)]}
            for i in range(PROMPTS))
        self.out = self.folder / "out"

    def refused(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stderr

    def whole(self):
        whole = self.folder / "whole"
        self.run_all(whole)
        return self.records(whole)

    def entries(self, folder):
        """What a reader of the folder finds: cell, id and turn, with record."""
        done = run("export", folder, "--format", "jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        return [((entry["cell"], entry["record"]["id"],
                  entry["record"]["turn"]), entry["record"])
                for entry in entries]

    def assert_same(self, folder, whole):
        """Every record is there once, with the whole run's tokens and trees."""
        entries = self.entries(folder)
        self.assertEqual(len(entries), len(whole))
        for key, record in entries:
            self.assertEqual(record["tokens"], whole[key]["tokens"])
            self.assertEqual([made["tokens"] for made in record["rounds"]],
                             [made["tokens"] for made in whole[key]["rounds"]])
        self.assertEqual({key for key, _ in entries}, set(whole))

    def in_file(self, path):
        return {key for key, _ in self.entries(path)}

    def test_cells_are_divided_with_their_baselines(self):
        whole = self.whole()
        for shard in ("0/3", "1/3", "2/3"):
            self.run_all(self.out, "--shard", shard, "--cut", "cells")
        self.assert_same(self.out, whole)
        methods = set()
        for path in sorted(self.out.glob("*.banyan")):
            cells = {key[0] for key in self.in_file(path)}
            mine = {cell for cell in cells if not cell.startswith("plain")}
            self.assertTrue(mine)
            self.assertFalse(mine & methods)
            methods |= mine
            # The baseline of each cell, and no other.
            self.assertEqual({cell.split(", ")[1] for cell in cells - mine},
                             {cell.split(", ")[1] for cell in mine})
        self.assertEqual(len(methods), 4)
        report = run("report", self.out, "--format", "csv")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("the cells were divided among 3 shards", report.stderr)
        self.assertIn("holds a shard cut by cells, not by prompts",
                      self.refused("run", self.file, "--out", self.out,
                                   "--shard", "0/3"))

    def test_shards_that_would_be_empty_are_refused(self):
        message = self.refused("run", self.file, "--out", self.out,
                               "--shard", "0/13")
        self.assertIn("expected at most 12 shards, found 13: the experiment has "
                      "12 prompts; to divide the cells instead, give --cut "
                      "cells", message)
        message = self.refused("check", self.file, "--shards", "5",
                               "--cut", "cells")
        self.assertIn("expected at most 4 shards, found 5: the experiment has "
                      "4 cells beside the baselines", message)
        message = self.refused("check", self.file, "--shards", "3",
                               "--set", "batch=4")
        self.assertIn("expected at most 2 shards, found 3: the experiment has "
                      "2 batches", message)
        self.assertFalse(self.out.exists())

    def test_a_cell_that_learns_is_whole_in_one_shard(self):
        self.file.write_text(EXPERIMENT.replace("matrix:", WARM))
        whole = self.whole()
        for shard in ("0/2", "1/2"):
            told = self.run_all(self.out, "--shard", shard).stderr
            self.assertIn("each of these cells runs on all prompts in one "
                          "shard", told)
            self.assertIn("prompt to prompt: warm, ", told)
        self.assert_same(self.out, whole)
        for number, temperature in enumerate((0, 1)):
            found = self.in_file(self.out / f"records-{number}-of-2.banyan")
            for method in ("warm", "plain"):
                cell = f"{method}, sampling.temperature={temperature}"
                self.assertEqual(sum(key[0] == cell for key in found), PROMPTS)

    def test_an_unlike_machine_goes_on_in_a_second_file(self):
        whole = self.whole()
        self.run_all(self.out, "--threads", "1")
        path = self.out / "records-0-of-1.banyan"
        data = path.read_bytes()
        again = 0  # baselines that both files have
        for share in (0.25, 0.4, 0.55, 0.7):
            out = self.folder / f"torn {share}"
            out.mkdir()
            (out / path.name).write_bytes(data[:int(len(data) * share)])
            before = self.in_file(out / path.name)
            message = self.refused("run", self.file, "--out", out,
                                   "--threads", "2")
            self.assertIn("with 1 threads, not ", message)
            self.assertIn("give --onto new to begin a second file for what is "
                          "missing", message)
            told = self.run_all(out, "--threads", "2", "--onto", "new").stderr
            [all_before] = re.findall(r"adds to (\d+) records from another machine",
                                      told)
            # With those of plain decoding's second runs, two a prompt.
            self.assertLessEqual(len(before), int(all_before))
            self.assertLessEqual(int(all_before), len(before) + 2 * PROMPTS)
            second = self.in_file(out / "records-0-of-1_2.banyan")
            self.assertEqual(before | second, set(whole))
            self.assertTrue(all(cell.startswith("plain")
                                for cell, _, _ in before & second))
            again += len(before & second)
            for cell, name, turn in second:  # each with its baseline
                plain = "plain, " + cell.split(", ")[1]
                self.assertIn((plain, name, turn), second)
            for key, record in self.entries(out):
                self.assertEqual(record["tokens"], whole[key]["tokens"])
            # Back on the first machine, what it has is given its baseline too;
            # then neither finds more to do, and no pair is of two machines.
            self.run_all(out, "--threads", "1")
            sizes = [file.stat().st_size for file in sorted(out.iterdir())]
            for threads in ("1", "2"):
                self.run_all(out, "--threads", threads, "--onto", "new")
            self.assertEqual(sizes, [file.stat().st_size
                                     for file in sorted(out.iterdir())])
            report = run("report", out)
            self.assertEqual(report.returncode, 0, report.stderr)
            self.assertIn("times are not alike (threads:", report.stderr)
            self.assertNotIn("not paired", report.stderr)
        self.assertGreater(again, 0)

    def test_machines_in_turn_lose_and_double_nothing(self):
        self.file.write_text(EXPERIMENT.replace("matrix:", WARM))
        whole = self.whole()
        for share, threads in ((0.2, "1"), (0.5, "2"), (0.7, "1"), (1, "2")):
            self.run_all(self.out, "--threads", threads, "--onto", "new")
            path = max(self.out.glob("*.banyan"),
                       key=lambda path: path.stat().st_mtime)
            data = path.read_bytes()
            path.write_bytes(data[:int(len(data) * share)])
        found = set()
        for path in self.out.glob("*.banyan"):
            keys = self.in_file(path)
            self.assertTrue(all(key[0].startswith("plain")
                                for key in keys & found))
            found |= keys
        self.assertEqual(found, set(whole))
        for key, record in self.entries(self.out):
            self.assertEqual(record["tokens"], whole[key]["tokens"])

    def test_a_signal_ends_the_run_after_its_record(self):
        whole = self.whole()
        statuses = []
        for _ in range(40):
            process = subprocess.Popen(
                [PROGRAM, "run", str(self.file), "--out", str(self.out)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            before = self.size()
            while process.poll() is None and self.size() == before:
                time.sleep(0.001)
            process.send_signal(signal.SIGUSR1)
            told = process.communicate()[1]
            statuses.append(process.returncode)
            if process.returncode == 0:
                break
            self.assertEqual(process.returncode, 4, told)
            self.assertRegex(told, r"stopped as asked, with \d+ of 96 records; "
                             "the same command resumes")
            self.assertNotIn("cut a torn record", told)
        self.assertIn(4, statuses)
        self.run_all(self.out)
        self.assert_same(self.out, whole)

    def size(self):
        return sum(path.stat().st_size for path in self.out.glob("*.banyan"))

    def test_check_tells_what_each_shard_takes(self):
        def check(*arguments):
            done = run("check", self.file, "--format", "json", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        one = check()
        self.assertEqual(one["cells"], 6)
        self.assertEqual(one["prompts"], PROMPTS)
        self.assertEqual(one["whole"], [])
        self.assertFalse(one["measured"])
        shard, = one["shards"]
        self.assertEqual(shard["records"], 8 * PROMPTS)  # plain twice
        self.assertLess(shard["least_s"], shard["most_s"])
        self.assertLess(one["longest_s"], shard["most_s"] / PROMPTS)
        five = check("--shards", "5")
        self.assertEqual([shard["records"] for shard in five["shards"]],
                         [24, 24, 16, 16, 16])
        cells = check("--shards", "3", "--cut", "cells")
        self.assertEqual([shard["records"] for shard in cells["shards"]],
                         [6 * PROMPTS, 3 * PROMPTS, 3 * PROMPTS])
        text = run("check", self.file, "--shards", "4")
        self.assertIn("The longest shard: at best ", text.stdout)
        # The folder of another run is no place for this one.
        self.run_all(self.out)
        check("--out", self.out)
        message = self.refused("check", self.file, "--out", self.out,
                               "--shards", "2")
        self.assertIn("holds shard 0 of 1, not of 2", message)
        message = self.refused("check", self.file, "--out", self.out,
                               "--set", "seeds=[7]")
        self.assertIn("holds another experiment", message)


if __name__ == "__main__":
    unittest.main()
