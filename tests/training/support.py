"""What the tests of training/ share: folders, commands, and tiny models that
are trained once for all of them."""

import argparse
import contextlib
import csv
import functools
import importlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import torch
from safetensors.torch import load_file

from training import __main__, corpus
from training.files import write_json
from training.model import Decoder, Shape

torch.set_num_threads(1)

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests/goldens/checkpoints"

# Runs a recipe and sends itself a signal once it has written its log at a step.
DISTURBED = """
import os, sys
from training import __main__, trainer
log = trainer.Trainer._log
def disturbed(self):
    log(self)
    if self.step == int(sys.argv[1]):
        os.kill(os.getpid(), int(sys.argv[2]))
trainer.Trainer._log = disturbed
sys.exit(__main__.main(sys.argv[3:]))
"""


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, *arguments):
        """A recipe that must succeed; what it printed."""
        code, said, complained = command(*arguments)
        self.assertEqual(code, 0, complained)
        return said

    def refused(self, *arguments):
        """A recipe that must end with a sentence; the sentence."""
        code, _, complained = command(*arguments)
        self.assertEqual(code, 1, complained)
        errors = [line for line in complained.splitlines()
                  if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, complained)
        return errors[0]


def command(*arguments):
    """(exit code, stdout, stderr) of a recipe, run in this process."""
    said, complained = io.StringIO(), io.StringIO()
    with (contextlib.redirect_stdout(said),
          contextlib.redirect_stderr(complained)):
        code = __main__.main([str(a) for a in arguments])
    return code, said.getvalue(), complained.getvalue()


def disturbed(step, number, *arguments):
    """A recipe in a process of its own, with a signal at a step."""
    return subprocess.run(
        [sys.executable, "-c", DISTURBED, str(step), str(int(number)),
         *map(str, arguments)], cwd=ROOT, capture_output=True, text=True,
        check=False)


def write_corpus(folder, **splits):
    """What `corpus` would leave: a list of texts for each split."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in corpus.SPLITS:
        texts = splits.get(split, ())
        (folder / f"{split}.jsonl").write_text(
            "".join(json.dumps({"path": f"{split}/{i}.py", "text": text}) + "\n"
                    for i, text in enumerate(texts)), encoding="utf-8")
    write_json(folder / "corpus.json", {
        **{split: {"files": len(splits.get(split, ())),
                   "bytes": sum(len(t.encode()) for t in splits.get(split, ()))}
           for split in corpus.SPLITS},
        "dropped": {}, "validation_prefixes": [], "test_prefixes": ["test/"]})
    return folder


def texts(count, first=0):
    """Text that a tiny model learns in a few steps."""
    return [f"def f{i}(x):\n    y = x + {i % 7}\n    return y\n" * 3
            for i in range(first, first + count)]


def tiny_model(seed=1, **changes):
    """Random weights, wide enough apart that a mistake shows."""
    shape = dict(vocab_size=19, hidden_size=12, layers=3, heads=3, kv_heads=1,
                 head_dim=4, feed_forward=16, context=64)
    model = Decoder(Shape(**{**shape, **changes}))
    generator = torch.Generator().manual_seed(seed)
    model.initialise(generator)
    with torch.no_grad():
        model.embed_tokens.weight.mul_(30)
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.add_(0.3 * torch.randn(weight.shape,
                                              generator=generator))
    return model.eval()


@functools.cache
def tiny():
    """Paths of a corpus, its tokenizer, a target, a student (a worse target)
    and a target of three layers, which no test may write to."""
    keep = tempfile.TemporaryDirectory()
    folder = pathlib.Path(keep.name)
    made = types.SimpleNamespace(
        keep=keep, corpus=folder / "corpus", tokenizer=folder / "tokenizer",
        target=folder / "target", student=folder / "student",
        deep=folder / "deep")
    write_corpus(made.corpus, train=texts(40), test=texts(4, first=40))
    for arguments in (
            ("tokenizer", "--corpus", made.corpus, "--vocab-size", 280,
             "--out", made.tokenizer),
            pretrain(made, "--out", made.target, steps=80),
            pretrain(made, "--out", made.student, steps=10, layers=1),
            pretrain(made, "--out", made.deep, steps=80, layers=3)):
        code, _, complained = command(*arguments)
        assert code == 0, complained
    return made


SIZE = ("--window", 16, "--batch", 4, "--threads", 1, "--device", "cpu")


def pretrain(made, *more, steps=12, layers=2):
    """The arguments of a tiny `pretrain`."""
    return ("pretrain", "--corpus", made.corpus, "--tokenizer", made.tokenizer,
            "--hidden", 16, "--layers", layers, "--heads", 2,
            "--feed-forward", 24, "--context", 48, "--steps", steps, *SIZE,
            "--rate", 1e-2, "--muon-rate", 2e-2, *more)


def teach(recipe, *more, steps=12):
    """The arguments of a tiny `distill` or `boost`."""
    made = tiny()
    before = ("--before", made.student) if recipe == "boost" else ()
    return (recipe, "--corpus", made.corpus, "--target", made.target,
            "--student", made.student, *before, "--steps", steps, *SIZE, *more)


def heads(*more, steps=12):
    """The arguments of a tiny `medusa`."""
    made = tiny()
    return ("medusa", "--corpus", made.corpus, "--target", made.target,
            "--heads", 3, "--steps", steps, *SIZE, *more)


def eagle(*more, steps=12):
    """The arguments of a tiny `eagle`."""
    made = tiny()
    return ("eagle", "--corpus", made.corpus, "--target", made.deep,
            "--steps", steps, *SIZE, *more)


def options(recipe, *arguments):
    """What a recipe's parser makes of arguments."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"training.{recipe}").add_arguments(parser)
    return parser.parse_args([str(a) for a in arguments])


def golden(name):
    return load_file(GOLDENS / name / "logits.safetensors")


def read_log(out):
    """The rows of log.csv, but for the seconds."""
    with open(out / "log.csv", encoding="utf-8", newline="") as file:
        return [{name: value for name, value in row.items()
                 if name != "seconds"} for row in csv.DictReader(file)]
