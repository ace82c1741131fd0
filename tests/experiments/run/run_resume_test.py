"""banyan run: killed, continued, in shards, refused; always the same tokens.

    run_resume_test.py PROGRAM KILLS

PROGRAM is the built banyan, which is killed KILLS times; the working directory is
the project's root.
"""

import fcntl
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from run_case import PROGRAM, RunCase, in_yaml, run  # noqa: E402

TARGET = pathlib.Path("tests/goldens/checkpoints/llama").resolve()
KILLS = int(sys.argv.pop(1))


def copy_model(model, folder):
    """A copy that may be changed, whoever may change the model."""
    folder.mkdir()
    for path in pathlib.Path(model).iterdir():
        shutil.copyfile(path, folder / path.name)


EXPERIMENT = f"""
question: Does a run survive?
target: {{directory: {in_yaml(TARGET)}}}
workload: {{file: prompts.jsonl}}
limits: {{max_new_tokens: 48, ignore_eos: true}}
methods:
  copy:
    models: {{copy: {{directory: target, weights: q8}}}}
    drafters: [{{name: small_model, model: copy}}]
    policy: {{name: expansion, branching: [2, 1, 1]}}
    verifier: {{name: multi_round}}
matrix:
  sampling.temperature: [0, 1]
"""


class RunTest(RunCase):

    def setUp(self):
        super().setUp()
        self.file.write_text(EXPERIMENT)
        dice = random.Random(1)
        self.prompts([[1] + [dice.randrange(3, 40) for _ in range(5)]
                      for _ in range(24)])

    def prompts(self, lists):
        self.write_prompts({"id": f"p{i}", "ids": ids}
                           for i, ids in enumerate(lists))

    def test_kills_at_random_instants_lose_nothing(self):
        whole = self.folder / "whole"
        start = time.monotonic()
        self.run_all(whole)
        seconds = time.monotonic() - start
        expected = self.tokens(whole)
        whole_bytes = next(whole.glob("*.banyan")).stat().st_size
        self.assertEqual(len(expected), 4 * 24)
        dice = random.Random(2)
        out = self.folder / "killed"
        counts = []
        for kill in range(KILLS):
            process = subprocess.Popen(
                [PROGRAM, "run", str(self.file), "--out", str(out)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if kill % 4 == 0:  # anywhere, mostly before the first record
                time.sleep(dice.uniform(0, 0.1 * seconds))
            else:  # while records are written, a share of them each time
                self.wait_for(out, whole_bytes * (kill + dice.random()) / KILLS)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if any(out.glob("*.banyan")) and self.readable(out):
                found = self.tokens(out)
                for key, tokens in found.items():
                    self.assertEqual(tokens, expected[key])
                counts.append(len(found))
                # What was recorded before is still there.
                self.assertEqual(counts, sorted(counts))
        self.run_all(out)
        self.assertEqual(self.tokens(out), expected)
        self.assertGreater(len(set(counts)), KILLS // 2, counts)

    def test_batches_say_the_same_and_are_run_whole_again(self):
        self.run_all(self.folder / "alone")
        expected = self.tokens(self.folder / "alone")
        self.file.write_text(EXPERIMENT + "batch: 4\n")
        whole = self.folder / "whole"
        self.run_all(whole)
        self.assertEqual(self.tokens(whole), expected)
        records = self.records(whole)
        self.assertEqual({record["batch_prompts"]
                          for record in records.values()}, {8})
        self.assertEqual({record["batch"] for record in records.values()},
                         {1, 2, 3})
        self.assertEqual(max(made["sequences"] for record in records.values()
                             for made in record["rounds"]), 4)
        # Wherever the end is torn off, no batch is there in part.
        path = next(whole.glob("*.banyan"))
        data = path.read_bytes()
        dice = random.Random(3)
        for share in (0.2, 0.5, 0.7, 0.99):
            out = self.folder / f"torn {share}"
            out.mkdir()
            cut = int(len(data) * share) + dice.randrange(64)
            (out / path.name).write_bytes(data[:cut])
            self.assertEqual(len(self.records(out)) % 8, 0)
            self.run_all(out)
            self.assertEqual(self.tokens(out), expected)

    def test_a_folder_of_another_run_is_refused_before_it_decodes(self):
        out = self.folder / "out"
        self.run_all(out, "--shard", "0/2")
        whole = run("run", self.file, "--out", out)
        self.assertEqual(whole.returncode, 2)
        self.assertIn("holds shard 0 of 2, not of 1", whole.stderr)
        self.file.write_text(EXPERIMENT.replace("survive", "last"))
        other = run("run", self.file, "--out", out, "--shard", "1/2")
        self.assertEqual(other.returncode, 2)
        self.assertIn("records-0-of-2.banyan holds another experiment",
                      other.stderr)
        self.assertEqual(len(list(out.glob("*.banyan"))), 1)

    def test_shards_of_batches_are_one_run(self):
        self.file.write_text(EXPERIMENT + "batch: 2\n")
        whole = self.folder / "whole"
        self.run_all(whole)
        parts = [self.folder / f"part {i}" for i in range(2)]
        for i, part in enumerate(parts):
            self.run_all(part, "--shard", f"{i}/2")
        self.assertEqual(self.tokens(*parts), self.tokens(whole))

    def wait_for(self, out, size):
        """Until the record file is as large, or 20 seconds have passed."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if sum(path.stat().st_size for path in out.glob("*.banyan")) > size:
                return

    def readable(self, out):
        """False where the kill came before the context was whole."""
        path = next(out.glob("*.banyan"))
        return run("export", path, "--format", "jsonl").returncode == 0

    def test_what_was_learnt_from_prompts_before_is_there_again(self):
        learning = EXPERIMENT.replace("matrix:", """\
  warm:
    drafters: [{name: ngram, reset: never, history: 0}]
    policy: {name: chain, nodes: 3}
    verifier: {name: match}
matrix:""")
        for batch in (1, 2):
            self.file.write_text(learning + f"batch: {batch}\n")
            whole = self.folder / f"whole {batch}"
            self.run_all(whole)
            expected = self.trees(whole)
            path = next(whole.glob("*.banyan"))
            data = path.read_bytes()
            for share in (0.3, 0.6, 0.9):
                out = self.folder / f"torn {batch} {share}"
                out.mkdir()
                (out / path.name).write_bytes(data[:int(len(data) * share)])
                self.run_all(out)
                self.assertEqual(self.trees(out), expected)
            stores = [(record["order"], record["stores"][0])
                      for key, record in self.records(whole).items()
                      if "warm" in key[0] and record.get("stores")]
            held = [int(store["held"]) for _, store in sorted(
                stores, key=lambda entry: entry[0])]
            self.assertEqual(len(held), 48 // (2 * batch if batch > 1 else 1))
            self.assertEqual(stores[0][1]["unit"], "tokens")
        # Cold, it drafts less.
        cold = self.folder / "cold"
        self.file.write_text(
            learning.replace("reset: never", "reset: prompt"))
        self.run_all(cold)
        self.assertNotEqual(self.trees(cold),
                            self.trees(self.folder / "whole 1"))

    def test_trees_of_all_drafters_are_the_same_again(self):
        for policy, wide in (("cost_aware", 14), ("joint", 10.2)):
            self.file.write_text(EXPERIMENT.replace("matrix:", f"""\
  together:
    models: {{copy: {{directory: target, weights: q8}}}}
    drafters: [{{name: small_model, model: copy}}, {{name: ngram}}]
    policy:
      name: {policy}
      nodes: 6
      target_ms: {{1: 10, 7: {wide}}}
      draft_ms: [0.1, 0.01]
      alone: [[[0.7, 0.2], [0.7]], [[0.3, 0.1], [0.4]]]
      together: [0.2, 0.5, 0.1, 0.2]
    verifier: {{name: multi_round}}
matrix:"""))
            whole = self.folder / f"whole {policy}"
            self.run_all(whole)
            expected = self.trees(whole)
            drafters = {draws["trunk"] for key, record in
                        self.records(whole).items() if "together" in key[0]
                        for made in record["rounds"]
                        for draws in made["lists"] if draws.get("tokens")}
            self.assertEqual(drafters, {0, 1}, "only one of them drafted")
            path = next(whole.glob("*.banyan"))
            data = path.read_bytes()
            for share in (0.3, 0.6, 0.9):
                out = self.folder / f"torn {policy} {share}"
                out.mkdir()
                (out / path.name).write_bytes(data[:int(len(data) * share)])
                self.run_all(out)
                self.assertEqual(self.trees(out), expected)

    def trees(self, *outs):
        """What was drafted, round by round, and what was said."""
        return {key: [record["tokens"]] + [made["tokens"]
                                           for made in record["rounds"]]
                for key, record in self.records(*outs).items()}

    def test_a_torn_tail_is_cut_and_said(self):
        out = self.folder / "out"
        self.run_all(out)
        expected = self.tokens(out)
        path = next(out.glob("*.banyan"))
        path.write_bytes(path.read_bytes()[:-7])
        again = self.run_all(out)
        self.assertRegex(again.stderr, r"cut a torn record of \d+ bytes")
        self.assertRegex(again.stderr, r"going on after \d+ records")
        self.assertEqual(self.tokens(out), expected)

    def test_shards_are_the_whole_run(self):
        whole = self.folder / "whole"
        self.run_all(whole)
        parts = self.folder / "parts"
        for shard in ("0/2", "1/2"):
            self.run_all(parts, "--shard", shard)
        self.assertEqual(len(list(parts.glob("*.banyan"))), 2)
        self.assertEqual(self.tokens(parts), self.tokens(whole))

    def test_the_order_and_the_threads_change_no_token(self):
        one = self.folder / "one"
        self.run_all(one, "--threads", "1")
        two = self.folder / "two"
        self.run_all(two, "--threads", "2")
        self.assertEqual(self.tokens(one), self.tokens(two))
        # A greedy text that is one token shorter is the same text.
        three = self.folder / "three"
        self.run_all(three, "--set", "limits.max_new_tokens=47")
        shorter = {key: value[:47] for key, value in self.tokens(one).items()
                   if "temperature=0" in key[0]}
        for key, value in self.tokens(three).items():
            if key in shorter:
                self.assertEqual(value, shorter[key])

    def test_greedy_methods_say_what_plain_says(self):
        out = self.folder / "out"
        self.run_all(out)
        tokens = self.tokens(out)
        plain = {key[1]: value for key, value in tokens.items()
                 if key[0].startswith("plain") and key[0].endswith("=0")}
        copy = {key[1]: value for key, value in tokens.items()
                if key[0].startswith("copy") and key[0].endswith("=0")}
        self.assertEqual(len(plain), 24)
        self.assertEqual(plain, copy)

    def test_another_experiment_is_not_mixed_in(self):
        out = self.folder / "out"
        self.run_all(out)
        before = next(out.glob("*.banyan")).read_bytes()
        done = run("run", self.file, "--out", out, "--set", "seeds=[1]")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another experiment", done.stderr)
        (self.folder / "prompts.jsonl").write_text('{"id": "x", "ids": [1]}\n')
        done = run("run", self.file, "--out", out)
        self.assertIn("another workload", done.stderr)
        next(out.glob("*.banyan")).write_bytes(b"something else entirely")
        done = run("run", self.file, "--out", out)
        self.assertEqual(done.returncode, 2)
        self.assertIn(".banyan", done.stderr)
        next(out.glob("*.banyan")).write_bytes(before)

    def test_what_cannot_be_drafted_is_told_before_the_first_token(self):
        def told(change):
            text = EXPERIMENT
            for old, new in change.items():
                self.assertIn(old, text)
                text = text.replace(old, new)
            self.file.write_text(text)
            done = run("check", self.file)
            self.assertEqual(done.returncode, 2, done.stdout)
            return done.stderr

        small = self.folder / "small"
        copy_model(TARGET, small)
        config = json.loads((small / "config.json").read_text())
        config["max_position_embeddings"] = 50
        (small / "config.json").write_text(json.dumps(config))
        text = EXPERIMENT.replace("{directory: target,",
                                  f"{{directory: {in_yaml(small)},")
        self.file.write_text(text)
        done = run("check", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(1, done.stderr.count(
            "holds 50 tokens: after them it drafts nothing"), done.stderr)
        self.assertIn("no drafter uses model 'other'", told(
            {"weights: q8}}": "weights: q8}, other: {directory: target}}"}))
        self.prompts([[1, 2], [1, 99999]])
        self.assertIn("token id 99999 is outside", told({}))
        for shard in ("0/2/3", "2/2", "x"):
            done = run("run", self.file, "--out", self.folder, "--shard", shard)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--shard: expected I/N", done.stderr)

    def test_other_tokens_under_the_same_numbers_are_told(self):
        drafter = self.folder / "drafter"
        copy_model("models/pycode-draft-1", drafter)
        tokenizer = json.loads((drafter / "tokenizer.json").read_text())
        vocabulary = tokenizer["model"]["vocab"]
        vocabulary["de"], vocabulary["def"] = (vocabulary["def"],
                                               vocabulary["de"])
        (drafter / "tokenizer.json").write_text(json.dumps(tokenizer))
        method = self.folder / "method.yaml"
        method.write_text(
            f"models: {{draft: {{directory: {in_yaml(drafter)}}}}}\n"
            "drafters: [{name: small_model, model: draft}]\n"
            "policy: {name: chain, nodes: 2}\nverifier: {name: multi_round}\n")
        done = run("generate", "--model", "models/pycode-target", "--prompt",
                   "x", "--method", method)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, r"method.yaml:2:\d+: token \d+ is "
                         "'def' here and 'de' in the target's")

    def test_another_run_is_not_gone_on_with(self):
        target = self.folder / "target"
        copy_model(TARGET, target)
        self.file.write_text(
            EXPERIMENT.replace(in_yaml(TARGET), in_yaml(target)))
        out = self.folder / "out"
        self.run_all(out, "--threads", "1")
        done = run("run", self.file, "--out", out, "--threads", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("with 1 threads, not ", done.stderr)
        done = run("run", self.file, "--out", out, "--device", "reference")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a run on the device cpu, not reference", done.stderr)
        weights = target / "model.safetensors"
        changed = bytearray(weights.read_bytes())
        changed[-1] ^= 1
        weights.write_bytes(changed)
        done = run("run", self.file, "--out", out, "--threads", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("target/model.safetensors", done.stderr)

    def test_measured_costs_are_those_of_the_first_run(self):
        """Shards and runs that go on have the cells of the first one, whatever
        the machine would say now."""
        counted = self.folder / "counted"
        self.run_all(counted)
        done = run("measure", counted, "--out", self.folder / "costs.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.file.write_text(
            EXPERIMENT.replace("workload:", "compare: {chains: measured}\n"
                               "costs: !include costs.yaml\n"
                               "workload:"))
        out = self.folder / "out"
        first = self.run_all(out, "--shard", "0/2")
        self.assertEqual(first.stderr.count("measuring"), 1)
        told = [line for line in first.stderr.splitlines()
                if "chosen by predicted speed" in line]
        self.assertEqual(len(told), 1)
        self.assertIn(": 2 sizes of trees and chains", told[0])  # a temperature each
        second = self.run_all(out, "--shard", "1/2")
        self.assertNotIn("measuring", second.stderr)
        self.assertIn(told[0], second.stderr.splitlines())
        self.assertEqual(self.run_all(out, "--shard", "1/2").stdout,
                         second.stdout)
        self.assertIn("chain-", second.stdout)
        lines = run("export", out, "--format", "jsonl").stdout
        cells = {json.loads(line)["cell"] for line in lines.splitlines()}
        self.assertTrue(any(cell.startswith("chain-") for cell in cells))
        done = run("run", self.file, "--out", out, "--shard", "1/2",
                   "--threads", "1")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "its costs were measured on .* threads, "
                         "but this machine is .* 1 thread: give another --out")
        # A second file keeps the costs that chose the cells; so does a check.
        done = self.run_all(out, "--shard", "1/2", "--threads", "1",
                            "--onto", "new")
        self.assertNotIn("measuring", done.stderr)
        done = run("check", self.file, "--out", out, "--shards", "2",
                   "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("run", self.file, "--out", self.folder / "other",
                   "--set", "sampling.temperature=0.3", "--set", "matrix={}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no acceptance of temperature 0.3 for drafter", done.stderr)

    def test_an_empty_file_of_a_run_that_begins_is_left_to_it(self):
        out = self.folder / "out"
        out.mkdir()
        path = out / "records-0-of-1.banyan"
        with path.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            done = run("run", self.file, "--out", out)
            self.assertEqual(done.returncode, 2)
            self.assertIn("another run is writing this file", done.stderr)
            self.assertEqual(path.stat().st_ino, os.fstat(file.fileno()).st_ino)
        self.run_all(out)

    def test_memory_is_that_of_the_prompt(self):
        out = self.folder / "out"
        self.run_all(out)
        for record in self.records(out).values():
            self.assertGreater(int(record["peak_memory_bytes"]), 1 << 20)
            self.assertLess(int(record["peak_memory_bytes"]), 256 << 20,
                            "what was freed before the run is in it")

    def test_cells_come_in_an_order_without_order(self):
        out = self.folder / "out"
        self.run_all(out)
        records = self.records(out)
        cells = sorted({cell for cell, _, _ in records})
        together = 0  # how often two that differ in a last letter are next
        for name in {name for _, name, _ in records}:
            order = sorted(cells, key=lambda c: records[c, name, 0]["order"])
            together += set(cells[:2]) in map(set, zip(order, order[1:]))
        # Of 24 prompts, each with a chance of a half; for ever the same.
        self.assertTrue(4 <= together <= 20, together)

    def test_everything_wrong_is_told_at_once(self):
        self.prompts([[1, 2], [1] * 100, [1] * 101])
        self.file.write_text(
            EXPERIMENT.replace("model: copy}", "model: cpy}")
            .replace("matrix:", "sampling: {}\nmatrix:"))
        done = run("check", self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'copy'", done.stderr)
        self.assertEqual(len(re.findall("do not fit the context", done.stderr)),
                         2, done.stderr)

    def test_check_lists_the_cells_and_the_time(self):
        done = run("check", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 cells on 24 prompts", done.stdout)
        self.assertIn("copy, sampling.temperature=1", done.stdout)
        self.assertRegex(done.stdout, r"At best \d+ s, if every draft is "
                         r"accepted; \d+ s if none")
        resolved = run("check", self.file, "--resolved")
        copy = self.folder / "copy.yaml"
        copy.write_text(resolved.stdout)
        self.assertEqual(run("check", copy, "--resolved").stdout,
                         resolved.stdout)

    def test_a_full_disk_stops_the_run(self):
        out = self.folder / "out"
        out.mkdir()
        self.run_all(out)
        path = next(out.glob("*.banyan"))
        size = path.stat().st_size
        records = len(self.tokens(out))
        path.write_bytes(path.read_bytes()[:size // 2])
        # A limit on the size of files is a full disk to the program, which
        # ignores the signal by which the system would end it.
        limited = subprocess.run(
            ["bash", "-c",
             f"ulimit -f {(size // 2 + 8192) // 1024}; "
             f"exec {shlex.join([PROGRAM, 'run', str(self.file)])} "
             f"--out {shlex.quote(str(out))}"],
            text=True, capture_output=True, check=False)
        self.assertGreater(limited.returncode, 0)
        self.assertIn(path.name, limited.stderr)
        self.assertIn("File too large", limited.stderr)
        self.assertLess(len(self.tokens(out)), records)
        self.run_all(out)
        self.assertEqual(len(self.tokens(out)), records)


if __name__ == "__main__":
    unittest.main()
