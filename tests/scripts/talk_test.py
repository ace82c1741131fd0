"""Tests of the recipe talk: a tiny model with a chat template talks to itself.

  talk_test.py PROGRAM
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
MODEL = PROJECT / "tests/goldens/gguf/types.gguf"
sys.path.insert(0, str(PROJECT))

from training import talk  # noqa: E402


class TalkTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def talk(self, out, *more, tokens=700, target=MODEL):
        return subprocess.run(
            [sys.executable, "-m", "training", "talk", "--program", PROGRAM,
             "--target", target, "--tokens", str(tokens), "--out",
             self.folder / out, "--chats", "24", "--batch", "8",
             "--message-tokens", "90", "--answer-tokens", "20", *more],
            cwd=PROJECT, capture_output=True, text=True, check=False)

    def must(self, out, *more, **settings):
        done = self.talk(out, *more, **settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def files(self, out):
        return {path.relative_to(self.folder / out): path.read_bytes()
                for path in (self.folder / out).rglob("*") if path.is_file()}

    def chats(self, out):
        return [json.loads(line) for name in ("train", "validation", "test")
                for line in (self.folder / out / f"{name}.jsonl").read_text(
                    encoding="utf-8").splitlines()]

    def test_chats_are_a_message_and_an_answer(self):
        told = self.must("out", "--held-out-share", "0.3")
        chats = self.chats("out")
        self.assertGreater(len(chats), 10)
        for chat in chats:
            self.assertEqual(len(chat["turns"]), 2)
            self.assertTrue(all(chat["turns"]))
            self.assertNotIn("<|", chat["turns"][0])
        messages = [chat["turns"][0] for chat in chats]
        self.assertEqual(len(set(messages)), len(messages))
        summary = json.loads((self.folder / "out/corpus.json").read_text())
        counts = [summary[name]["files"]
                  for name in ("train", "validation", "test")]
        self.assertEqual(sum(counts), len(chats))
        self.assertTrue(all(counts), "a split has nothing")
        self.assertRegex(told, r"[0-9,]+ of 700 tokens, [0-9]+ a second, "
                         r"[0-9]+ min left")

    def test_a_run_that_was_stopped_goes_on(self):
        self.must("whole")
        self.must("cut", tokens=1)
        first = self.folder / "cut/parts/00000.jsonl"
        before = first.stat()
        (self.folder / "cut/parts/00001.work/messages").mkdir(parents=True)
        self.must("cut")
        self.assertEqual(first.stat().st_mtime_ns, before.st_mtime_ns)
        self.assertEqual(self.files("cut"), self.files("whole"))

    def test_messages_begin_with_the_openers_in_turn(self):
        path = self.folder / "openers.txt"
        path.write_text("Why is\n\n")
        self.must("some", "--openers", str(path), tokens=1)
        chats = self.chats("some")
        opened = sum(chat["turns"][0].startswith("Why is") for chat in chats)
        self.assertGreater(opened, 3)
        self.assertGreater(len(chats) - opened, 3)
        self.must("usual", tokens=1)
        first = tuple(talk.OPENERS[:24])
        self.assertTrue(all(chat["turns"][0].startswith(first)
                            for chat in self.chats("usual")))
        path.write_text("Whose\n")
        done = self.talk("some", "--openers", str(path))
        self.assertEqual(done.returncode, 1)
        self.assertIn("openers: these chats were written with ['Why is', ''], "
                      "found ['Whose']", done.stderr)

    def test_openers_that_cannot_be_read_are_refused(self):
        path = self.folder / "none.txt"
        for text in None, b"\xff\xfe":
            if text:
                path.write_bytes(text)
            done = self.talk("out", "--openers", str(path))
            self.assertEqual(done.returncode, 2)
            self.assertIn("--openers", done.stderr)
            self.assertIn("none.txt", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_every_seed_gives_other_chats(self):
        for seed in "1", "2":
            self.must(seed, "--seed", seed, tokens=1)
        self.assertNotEqual(self.chats("1"), self.chats("2"))

    def test_other_settings_are_refused_by_name(self):
        self.must("out", tokens=1)
        done = self.talk("out", "--answer-temperatures", "0.5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("answer_temperatures: these chats were written with "
                      "[0.0, 0.7, 1.0], found [0.5]", done.stderr)

    def test_what_cannot_talk_is_refused(self):
        done = self.talk("out", target=PROJECT / "models/pycode-target")
        self.assertEqual(done.returncode, 1)
        self.assertIn("chat", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_chats_that_do_not_fit_are_refused_in_one_line(self):
        done = self.talk("out", target=PROJECT / "tests/goldens/gguf/llama.gguf")
        self.assertEqual(done.returncode, 1)
        self.assertIn("do not fit the context", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_texts_with_line_separators_stay_whole(self):
        text = "one\u2028two\u0085three"
        line = json.dumps({"text": text}, ensure_ascii=False) + "\n"
        self.assertEqual(talk._json_lines(line * 2), [{"text": text}] * 2)

    def test_messages_seen_before_and_empty_ones_are_dropped(self):
        def chat(number, message, answer):
            return {"path": f"talk/{number}", "turns": [message, answer],
                    "tokens": 3}
        options = argparse.Namespace(out=self.folder / "out", held_out_share=0)
        talk.write_corpus([chat(0, "Name a large tree.", "An oak."),
                           chat(1, "name a  large tree.", "A banyan."),
                           chat(2, "?!", "Yes."),
                           chat(3, "Name a small tree.", " ")], options)
        self.assertEqual([row["path"] for row in self.chats("out")], ["talk/0"])
        summary = json.loads((self.folder / "out/corpus.json").read_text())
        self.assertEqual(summary["dropped"],
                         {"a message seen before": 1, "hardly a word": 1,
                          "no answer": 1})


if __name__ == "__main__":
    unittest.main()
