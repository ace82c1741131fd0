"""contrasts: drafters and heads that differ in how they were taught, and in
nothing else, for the experiments that ask what it changes.

Small drafters of one start, distilled with each divergence on each text
(`LOSS-TEXT`: the corpus, the target's text, the drafter's own), beside the
start and one that learned from the corpus alone for as many steps (`start`,
`longer`); and heads taught in blockwise decoding's four ways and in ours. The
experiments are `configs/ablations/distill_*.yaml` and `blockwise_heads.yaml`.
`measured` holds how near each is to its target on held-out text, and the bits a
byte of the targets.

An hour on one core; a run that was stopped goes on where it was. `--smoke` does
the same with a few tiny steps.
"""

import pathlib

from training import stages
from training.divergences import DIVERGENCES

TARGET = pathlib.Path(__file__).parents[1] / "models/pycode-target"
# On which text, and the options of `distill` that say so.
TEXTS = {"corpus": ("--own-share", 0),
         "target": ("--own-share", 1),
         "drafter": ("--own-share", 1, "--writer", "drafter")}
DRAFTERS = ("start", "longer", *(f"{loss}-{text}" for loss in DIVERGENCES
                                 for text in TEXTS))
# As blockwise decoding teaches heads (medusa.py's head has the publication's
# words).
BLOCKWISE = ("--share-output", "--learn", "text", "--decay", 1)
WRITTEN = ("--own-share", 1, "--temperature", 0)
TUNED = ("--train-target", "--target-share", 1, "--target-loss", 1)
HEADS = {"heads-regular": BLOCKWISE,
         "heads-distilled": (*BLOCKWISE, *WRITTEN),
         "heads-tuned": (*BLOCKWISE, *TUNED),
         "heads-both": (*BLOCKWISE, *WRITTEN, *TUNED),
         "heads-distribution": ("--share-output", "--learn", "distribution", "--decay", 1)}


def add_arguments(parser):
    stages.add_arguments(parser, out="build/contrasts")
    parser.add_argument("--target", default=str(TARGET), metavar="DIR",
                        help="default: the shipped one")
    parser.add_argument("--start-steps", type=int, default=1500, metavar="N",
                        help="on the corpus, before drafters are distilled "
                        "(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=150, metavar="N",
                        help="of distilling, and of heads "
                        "(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--threads", type=int, default=0, metavar="N",
                        help="CPU threads (default: all)")


def run(options):
    contrasts = Contrasts(options)
    contrasts.corpus()
    contrasts.starts()
    contrasts.drafters()
    contrasts.heads()
    contrasts.measure()


class Contrasts(stages.Stages):
    def __init__(self, options):
        super().__init__(options)
        self.steps = 3 if self.quick else options.steps
        self.start_steps = 3 if self.quick else options.start_steps

    def starts(self):
        shape = ("--tokenizer", self.options.target, "--hidden", 64,
                 "--layers", 2, "--heads", 2, "--feed-forward", 176,
                 "--context", 1024, "--rate", 1.5e-2, "--muon-rate", 0.025)
        self.teach("pretrain", "start", self.start_steps, *shape)
        self.teach("pretrain", "longer", self.start_steps + self.steps, *shape)

    def drafters(self):
        for loss in DIVERGENCES:
            for text, whose in TEXTS.items():
                self.teach("distill", f"{loss}-{text}", self.steps,
                           "--target", self.options.target,
                           "--student", self.path("start"), "--loss", loss,
                           "--texts", self.path("texts"), *whose,
                           "--rate", 5e-3, "--muon-rate", 0.015)

    def heads(self):
        for name, way in HEADS.items():
            self.teach("medusa", name, self.steps,
                       "--target", self.options.target,
                       "--texts", self.path("texts"), *way)

    def teach(self, recipe, name, steps, *arguments):
        """All of them read batches of the same size and, as far as the corpus
        goes, the same windows, as long as the experiments' prompts with what
        follows them."""
        size = (("--window", 32, "--batch", 4) if self.quick else
                ("--window", 256, "--batch", 6))
        self.train(recipe, name, "--steps", steps, "--seed", self.options.seed,
                   "--threads", self.options.threads, *size,
                   "--long-share", 0, *arguments)

    def measure(self):
        self.judge("drafters", self.options.target, "--drafters",
                   *(self.path(name) for name in DRAFTERS))
        for name, way in HEADS.items():
            tuned = "--train-target" in way
            self.judge(name, f"{self.path(name)}/target" if tuned else
                       self.options.target, "--heads", self.path(name))

    def judge(self, name, target, *what):
        out = self.out / "measured" / f"{name}.json"
        if out.exists():
            return
        self.call("measure", "--target", target, "--corpus",
                  self.path("corpus"), "--exclude", "test/", "--limit",
                  1000 if self.quick else 30_000, "--window", 256,
                  "--threads", self.options.threads,
                  "--device", self.options.device, *what, "--out", out)
