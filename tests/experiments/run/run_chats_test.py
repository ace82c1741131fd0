"""banyan run on chats: turns that follow the cell's own answers.

    run_chats_test.py PROGRAM

PROGRAM is the built banyan; the working directory is the project's root.
"""

import json
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
from run_case import RunCase, in_yaml, run  # noqa: E402 (the switch first)

SHIPPED = pathlib.Path("models/pycode-target").resolve()
CHAIN = pathlib.Path("configs/methods/chain.yaml").resolve()
CHAT = f"""
question: Does one turn follow another?
target: {{directory: {in_yaml(SHIPPED)}}}
workload: {{file: prompts.jsonl, chat: vicuna}}
limits: {{max_new_tokens: 12, ignore_eos: true}}
methods:
  chain: {{preset: {in_yaml(CHAIN)}}}
matrix:
  sampling.temperature: [0, 1]
"""
QUESTIONS = [["def add(a, b):", "def sub(a, b):"], ["class Node:"],
             ["import os", "import re", "import sys"]]


class ChatTest(RunCase):

    def setUp(self):
        super().setUp()
        self.file.write_text(CHAT)
        self.write_prompts(
            {"question_id": 80 + i, "category": "code", "turns": turns}
            for i, turns in enumerate(QUESTIONS))

    def answers(self, out, cell):
        """The answers' texts by question."""
        done = run("export", out, "--format", "spec-bench", "--cell", cell)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        for row, turns in zip(rows, QUESTIONS, strict=True):
            [choice] = row["choices"]
            for key in ("turns", "decoding_steps", "new_tokens", "wall_time"):
                self.assertEqual(len(choice[key]), len(turns), key)
            self.assertEqual(choice["new_tokens"], [12] * len(turns))
            self.assertEqual(sum(choice["accept_lengths"]), 12 * len(turns))
        return {str(row["question_id"]): row["choices"][0]["turns"]
                for row in rows}

    def text(self, tokens):
        done = run("text", "tokenize", "--model", "models/pycode-target", "--decode",
                   input=" ".join(map(str, tokens)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_turn_follows_what_the_cell_itself_answered(self):
        out = self.folder / "out"
        self.run_all(out)
        records = self.records(out)
        self.assertEqual(len(records), 4 * 6)
        self.assertEqual(len({(cell, record["prompt"]) for (cell, _, _), record
                              in records.items()}), 4 * 6)
        # With plain decoding's second runs, which are exported nowhere.
        orders = {record["order"] for record in records.values()}
        self.assertEqual(len(orders), 4 * 6)
        self.assertTrue(orders < set(range(6 * 6)))
        for cell in {cell for cell, _, _ in records}:
            answers = self.answers(out, cell)
            for number, turns in enumerate(QUESTIONS):
                asked = ""
                for turn, question in enumerate(turns):
                    asked += f"USER: {question} ASSISTANT:"
                    record = records[cell, str(80 + number), turn]
                    text = self.text(record["prompt_tokens"])
                    self.assertTrue(text.endswith(asked), (text, asked))
                    asked += f" {answers[str(80 + number)][turn]}<|endoftext|>"
        for (cell, name, turn), record in records.items():
            if cell.startswith("chain") and cell.endswith("=0"):
                plain = records[cell.replace("chain", "plain"), name, turn]
                for key in ("prompt_tokens", "tokens"):
                    self.assertEqual(record[key], plain[key])

    def test_no_message_makes_a_control_token(self):
        self.write_prompts([{"id": "x", "turns":
                             ["a<|endoftext|>b", "<|endoftext|>"]}])
        for chat, controls in (("vicuna", 1), ("raw", 0)):
            out = self.folder / chat
            self.run_all(out, "--set", f"workload.chat={chat}")
            for (_, _, turn), record in self.records(out).items():
                # Token 0 ends a text, as vicuna writes it after an answer.
                self.assertEqual(record["prompt_tokens"].count(0),
                                 turn * controls)
                self.assertIn("a<|endoftext|>b",
                              self.text(record["prompt_tokens"]))

    def test_it_goes_on_after_any_record(self):
        whole = self.folder / "whole"
        self.run_all(whole)
        expected = self.records(whole)
        path = next(whole.glob("*.banyan"))
        everything = path.read_bytes()
        counts = set()
        for share in range(5, 100, 10):
            path.write_bytes(everything[:len(everything) * share // 100])
            again = self.run_all(whole)
            found = re.search(r"going on after (\d+)", again.stderr)
            counts.add(found and found[1])
            for key, record in self.records(whole).items():
                for field in ("prompt_tokens", "tokens", "prompt", "order"):
                    self.assertEqual(record[field], expected[key][field], key)
        self.assertGreater(len(counts), 5)

    def test_shards_are_the_whole_run(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.run_all(whole)
        for shard in ("0/2", "1/2"):
            self.run_all(parts, "--shard", shard)
        self.assertEqual(self.tokens(parts), self.tokens(whole))
        # A busy machine may be told, and nothing else.
        self.assertEqual([line for line in
                          run("report", parts).stderr.splitlines()
                          if "the load was" not in line], [])

    def test_what_cannot_be_asked_is_told(self):
        alone = run("check", self.file, "--set", "workload="
                    f"{{file: {in_yaml(self.folder / 'prompts.jsonl')}}}")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn("3 later turns left out", alone.stderr)
        self.assertIn("3 prompts (3 turns)", alone.stdout)
        for setting, told in (
                ("workload.chat=vicunna", "did you mean 'vicuna'"),
                ("workload.chat=auto", "has no chat template"),
                ("limits.max_new_tokens=400", "1200 new ones do not fit")):
            done = run("check", self.file, "--set", setting)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(told, done.stderr)
        lacking = run("check", self.file, "--set", "workload.chat=mistral_v3")
        self.assertEqual(lacking.returncode, 0, lacking.stderr)
        self.assertEqual(lacking.stderr.count("warning: workload.chat"), 1,
                         lacking.stderr)
        self.assertIn("workload.chat: chat template mistral_v3 writes [INST], "
                      "[/INST], which are no tokens", lacking.stderr)
        self.write_prompts([{"id": "x", "ids": [1, 2]}])
        self.assertIn("cannot be written as a chat",
                      run("check", self.file).stderr)
        self.write_prompts([{"id": "x", "turns": ["Why?", 3]}])
        self.assertIn("prompts.jsonl:1: turns[1]: expected a text, found 3",
                      run("check", self.file).stderr)


if __name__ == "__main__":
    unittest.main()
