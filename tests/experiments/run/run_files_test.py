"""banyan run names every file that a cell read, and mixes no two of one name.

    run_files_test.py PROGRAM

PROGRAM is the built banyan; the working directory is the project's root.
"""

import json
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
from run_case import RunCase, run  # noqa: E402

EXPERIMENT = """
question: Is every file named?
target: {directory: target}
workload: {file: prompts.jsonl}
limits: {max_new_tokens: 4, ignore_eos: true}
methods:
  reference:
    drafters: [{name: reference, file: text.txt}]
    policy: {name: static, file: paths.json}
    verifier: {name: multi_round}
  unigram:
    drafters: [{name: unigram, counts: counts.safetensors}]
    trunks: [{drafter: 0, policy: {name: static, file: own.json}}]
    verifier: {name: multi_round}
  eagle:
    models: {head: {heads: head}}
    drafters: [{name: eagle, head: head}]
    policy: {name: chain, nodes: 2}
    verifier: {name: multi_round}
  retokenized:
    models: {other: {directory: other}}
    drafters: [{name: retokenized, model: other}]
    policy: {name: chain, nodes: 2}
    verifier: {name: multi_round}
  rest:
    models: {library: {index: library}}
    drafters: [{name: rest, index: library}]
    policy: {name: chain, nodes: 2}
    verifier: {name: multi_round}
"""


def with_space(path):
    """Another text, of the same meaning."""
    path.write_text(path.read_text() + " ")


def flip(path, place=-1):
    """One bit of a byte, the last."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def flip_middle(path):
    """One bit of a weight."""
    flip(path, path.stat().st_size // 2)


# What is changed, and how.
CHANGES = {
    "target/config.json": with_space,
    "target/tokenizer.json": with_space,
    "target/tokenizer_config.json": with_space,
    "target/chat_template.jinja": lambda path: path.write_text("{{ x }}"),
    "target/model.safetensors": flip,
    "head/config.json": with_space,
    "head/model.safetensors": flip_middle,
    "other/tokenizer.json": with_space,
    "library/index.json": with_space,
    "library/000.suffixes": flip,
    "text.txt": with_space,
    "counts.safetensors": flip,
    "paths.json": with_space,
    "own.json": with_space,
}


class RunFilesTest(RunCase):

    def setUp(self):
        super().setUp()
        for name, model in (("target", "target"), ("head", "eagle3"),
                            ("other", "other")):
            shutil.copytree(f"models/pycode-{model}", self.folder / name)
        shutil.copyfile("models/pycode-counts/counts.safetensors",
                        self.folder / "counts.safetensors")
        (self.folder / "text.txt").write_text("def f(x):\n    return x\n")
        for name in ("paths.json", "own.json"):
            (self.folder / name).write_text("[[0], [0, 0]]")
        (self.folder / "code.txt").write_text("def f(x):\n    return x\n")
        done = run("make", "index", "--model", self.folder / "target", "--out",
                   self.folder / "library", self.folder / "code.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.file.write_text(EXPERIMENT)
        self.write_prompts([{"id": "a", "prompt": "def g(y):"},
                            {"id": "b", "prompt": "class A:"}])

    def changed(self, name):
        """Puts another file in the place of one; gives what was there."""
        path = self.folder / name
        before = path.read_bytes() if path.exists() else None
        CHANGES[name](path)
        return before

    def put_back(self, name, before):
        if before is None:
            (self.folder / name).unlink()
        else:
            (self.folder / name).write_bytes(before)

    def test_a_run_is_not_gone_on_with_after_any_file_changed(self):
        out = self.folder / "out"
        self.run_all(out)
        for name in CHANGES:
            before = self.changed(name)
            done = run("run", self.file, "--out", out)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn("a run with another ", done.stderr)
            self.assertIn(f"{name}: give another --out", done.stderr)
            self.put_back(name, before)
        # What no cell reads may change.
        with_space(self.folder / "target/README.md")
        self.run_all(out)

    def test_shards_of_other_files_are_refused_and_runs_compared(self):
        parts = [self.folder / f"part{i}" for i in range(2)]
        self.run_all(parts[0], "--shard", "0/2")
        self.changed("target/config.json")
        self.run_all(parts[1], "--shard", "1/2")
        done = run("report", *parts)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(
            done.stderr, r"part1/records-1-of-2.banyan was made with another "
            r".*target/config.json than .*part0/records-0-of-2.banyan")
        wholes = [self.folder / f"whole{i}" for i in range(2)]
        self.run_all(wholes[0])
        self.changed("head/config.json")
        self.run_all(wholes[1])
        done = run("compare", *wholes, "--json")
        differences = json.loads(done.stdout)["differences"]
        # The bandwidth is measured, and may differ too.
        differences = [one for one in differences if one.startswith("file")]
        self.assertEqual(len(differences), 1, differences)
        self.assertRegex(differences[0],
                         r"file .*head/config.json: \d+ \d+ \| \d+ \d+")

    def test_the_same_files_elsewhere_are_the_same(self):
        out = self.folder / "out"
        self.run_all(out)
        elsewhere = self.folder / "more"
        elsewhere.mkdir()
        for name in ("target", "head", "other", "library"):
            shutil.move(self.folder / name, elsewhere / name)
            (self.folder / name).symlink_to(elsewhere / name)
        self.run_all(out)


if __name__ == "__main__":
    unittest.main()
