"""Runs that are killed, stopped, resumed, repeated, or diverge."""

import contextlib
import functools
import math
import pathlib
import signal
import tempfile
from unittest import mock

import torch

from tests.training import support
from training.eagle_head import write_head
from training.files import read_json
from training.medusa import write_heads
from training.model import read_tensors, write_model

OFTEN = ("--save-minutes", 0, "--log-every", 4)  # a state after every step
RECIPES = {
    "pretrain": lambda *more: support.pretrain(
        support.tiny(), *OFTEN, "--exit-scale", 0.3, "--layer-dropout", 0.6,
        "--long-share", 0.4, *more, layers=3),
    "distill": lambda *more: support.teach(
        "distill", *OFTEN, "--own-share", 0.5, *more),
    "distill on its own text": lambda *more: support.teach(
        "distill", *OFTEN, "--own-share", 0.7, "--writer", "drafter",
        "--loss", "jensen-shannon", *more),
    "boost": lambda *more: support.teach(
        "boost", *OFTEN, "--own-share", 0.5, *more),
    "medusa": lambda *more: support.heads(*OFTEN, *more),
    "medusa-2": lambda *more: support.heads(
        *OFTEN, "--train-target", "--own-share", 0.5, "--learn", "text", *more),
    "eagle-1": lambda *more: support.eagle(*OFTEN, "--version", 1, *more),
    "eagle-3": lambda *more: support.eagle(
        *OFTEN, "--version", 3, "--noise", 0.1, "--draft-vocab", 200, *more),
}


@contextlib.contextmanager
def unrounded():
    """Results are written in float32, to be compared to the last bit."""
    with (mock.patch("training.pretrain.write_model", functools.partial(
              write_model, dtype=torch.float32)),
          mock.patch("training.distill.write_model", functools.partial(
              write_model, dtype=torch.float32)),
          mock.patch("training.medusa.write_model", functools.partial(
              write_model, dtype=torch.float32)),
          mock.patch("training.medusa.write_heads", functools.partial(
              write_heads, dtype=torch.float32)),
          mock.patch("training.eagle.write_head", functools.partial(
              write_head, dtype=torch.float32))):
        yield


@functools.cache
def killed_at_8(recipe):
    """The files of a run that was killed once its log had step 8."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        done = support.disturbed(8, signal.SIGKILL,
                                 *RECIPES[recipe]("--out", out))
        assert done.returncode == -signal.SIGKILL, done.stderr
        return {path.name: path.read_bytes() for path in out.iterdir()}


class Trained(support.FolderTest):

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def state(self):
        return torch.load(self.out / "state.pt", weights_only=True)

    def killed(self, recipe="pretrain"):
        self.out.mkdir(parents=True)
        for name, content in killed_at_8(recipe).items():
            (self.out / name).write_bytes(content)

    def terminated(self, step):
        done = support.disturbed(step, signal.SIGTERM,
                                 *RECIPES["pretrain"]("--out", self.out))
        self.assertEqual(done.returncode, 130, done.stderr)
        self.assertIn(f"error: stopped at step {step} by SIGTERM; the same "
                      "command goes on from there", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


class Resuming(Trained):

    def test_a_killed_run_ends_as_an_undisturbed_one(self):
        for recipe, arguments in RECIPES.items():
            with self.subTest(recipe), unrounded():
                self.out = self.folder / recipe / "out"
                # The log has step 8 by then, the state is that of step 7.
                self.killed(recipe)
                self.assertEqual(self.state()["step"], 7)
                self.assertEqual(support.read_log(self.out)[-1]["step"], "8")
                said = self.train(*arguments("--out", self.out))
                self.assertIn("goes on from step 7", said)
                whole = self.folder / recipe / "whole"
                self.train(*arguments("--out", whole))
                self.assert_same(self.out, whole)

    def assert_same(self, found, wanted):
        self.assertEqual(support.read_log(found), support.read_log(wanted))
        weights = read_tensors(wanted)
        self.assertEqual(set(read_tensors(found)), set(weights))
        for name, weight in read_tensors(found).items():
            if weight.is_floating_point():
                self.assertEqual(weight.dtype, torch.float32)
            self.assertTrue(torch.equal(weight, weights[name]), name)
        summaries = [read_json(out / "training.json")
                     for out in (found, wanted)]
        for summary in summaries:
            del summary["seconds"], summary["processor_seconds"]
            del summary["command"]  # names its --out
        self.assertEqual(*summaries)
        self.assertFalse((found / "state.pt").exists())

    def test_a_run_stopped_at_its_last_step_keeps_its_figures(self):
        self.terminated(12)
        figures = support.read_log(self.out)[-1]
        self.train(*RECIPES["pretrain"]("--out", self.out))
        self.assertAlmostEqual(read_json(self.out / "training.json")["loss"],
                               float(figures["loss"]), places=4)

    def test_a_half_written_line_of_the_log_is_dropped(self):
        self.killed()
        rows = support.read_log(self.out)
        with open(self.out / "log.csv", "a", encoding="utf-8") as log:
            log.write("1")  # the beginning of 12
        self.train(*RECIPES["pretrain"]("--out", self.out))
        again = support.read_log(self.out)
        self.assertEqual([row["step"] for row in again], ["4", "8", "12"])
        self.assertEqual(again[:2], rows)

    def test_sigterm_stops_and_says_how_to_go_on(self):
        self.terminated(4)
        self.assertEqual(self.state()["step"], 4)
        self.assertFalse((self.out / "model.safetensors").exists())

    def test_other_options_do_not_go_on(self):
        self.killed()
        before = (self.out / "state.pt").read_bytes()
        self.assertIn(
            "a run with other options stopped here",
            self.refused(*RECIPES["pretrain"]("--out", self.out, "--seed", 2)))
        self.assertEqual((self.out / "state.pt").read_bytes(), before)
        # How often it is logged is no such option.
        self.train(*RECIPES["pretrain"]("--out", self.out, "--log-every", 3))

    def test_a_broken_state_is_refused(self):
        self.killed()
        path = self.out / "state.pt"
        for broken in (path.read_bytes()[:-100], b"", b"nonsense"):
            path.write_bytes(broken)
            self.assertIn("state.pt: not a state of this program",
                          self.refused(*RECIPES["pretrain"]("--out", self.out)))


class Finished(Trained):

    def setUp(self):
        super().setUp()
        self.arguments = RECIPES["pretrain"]("--out", self.out)
        self.train(*self.arguments)

    def test_a_finished_run_does_nothing(self):
        before = self.content()
        self.assertIn("trained already with these options",
                      self.train(*self.arguments))
        self.assertEqual(self.content(), before)

    def test_a_result_of_other_options_is_refused(self):
        before = self.content()
        for changed in (("--rate", 1e-3), ("--layers", 1),
                        ("--corpus", self.other_corpus())):
            self.assertIn("training.json: made with other options",
                          self.refused(*self.arguments, *changed))
        self.assertEqual(self.content(), before)

    def test_the_same_corpus_elsewhere_is_the_same(self):
        self.assertIn("trained already", self.train(
            *self.arguments, "--corpus", support.write_corpus(
                self.folder / "same", train=support.texts(40))))

    def other_corpus(self):
        return support.write_corpus(self.folder / "other",
                                    train=support.texts(41))

    def content(self):
        return {path.name: (path.stat().st_mtime_ns, path.read_bytes())
                for path in self.out.iterdir()}


class Diverging(Trained):

    def test_a_loss_that_is_no_number_ends_the_run(self):
        self.assertRegex(
            self.refused(*RECIPES["pretrain"]("--out", self.out, *self.absurd,
                                              "--save-minutes", 9)),
            "step [0-9]+: the loss is .*; nothing was saved yet; try lower")
        self.assertFalse((self.out / "state.pt").exists())

    absurd = ("--rate", 1e30, "--muon-rate", 0, "--warmup", 0)

    def test_the_state_before_the_spoilt_step_is_kept(self):
        arguments = RECIPES["pretrain"]("--out", self.out)
        with spoilt(5):
            self.assertRegex(
                self.refused(*arguments), "step 6: the loss is .*; the state "
                f"of step 5 is kept in {self.out / 'state.pt'}; try lower")
        self.assertEqual(self.state()["step"], 5)
        for name, weight in self.state()["module"].items():
            self.assertLess(float(weight.abs().max()), 10, name)
        self.assertFalse((self.out / "model.safetensors").exists())
        self.assertIn("goes on from step 5", self.train(*arguments))

    def test_a_spoilt_last_step_gives_no_model(self):
        with spoilt(11):
            self.assertRegex(
                self.refused(*RECIPES["pretrain"]("--out", self.out)),
                "step 12: the weights are not finite; the state of step 11")
        self.assertFalse((self.out / "model.safetensors").exists())


def spoilt(spoilt_step):
    """One step makes the weights no numbers."""
    return mock.patch("training.trainer.share_of_peak",
                      lambda step, *_: math.nan if step == spoilt_step
                      else 1.0)
