"""shipped: everything in models/, made again from the sources of the Python
standard library that this Python came with.

Hours on two cores; a run that was stopped goes on where it was.
`--smoke` does the same with tiny models in minutes, to see that every recipe
works. With `--install` the result takes the place of models/.
"""

import pathlib
import platform

from training import stages

NAMES = ("pycode-target", "pycode-draft-1", "pycode-draft-2", "pycode-medusa",
         "pycode-eagle1", "pycode-eagle3", "pycode-lookahead", "pycode-other")
ABOUT = ("The sources of the Python {version} standard library and of its "
         "tests (Python Software Foundation Licence).")
NOTES = {"pycode-other":
         "A drafter for `pycode-target` with a tokenizer of its own: as many "
         "tokens, from the same text, within other words (`scripts/train "
         "tokenizer --vocab-size 2048 --pattern llama3`)."}


def add_arguments(parser):
    stages.add_arguments(parser, out="build/training")
    parser.add_argument("--install", metavar="DIR",
                        help="copy the finished models there")
    parser.add_argument("--no-compile", action="store_true",
                        help="do without torch.compile, which needs a C++ "
                        "compiler")


def run(options):
    shipped = Shipped(options)
    for stage in (shipped.text, shipped.target, shipped.drafters, shipped.other,
                  shipped.heads, shipped.measure, shipped.cards):
        stage()
    if options.install:
        shipped.install(NAMES)


class Shipped(stages.Stages):
    def text(self):
        self.corpus()
        for name, pattern in (("tokenizer", "gpt2"),
                              ("other-tokenizer", "llama3")):
            if not (self.out / name / "tokenizer.json").exists():
                self.call("tokenizer", "--corpus", self.path("corpus"),
                          "--vocab-size", 512 if self.quick else 2048,
                          "--pattern", pattern, "--out", self.path(name))

    def target(self):
        size = (["--hidden", 32, "--layers", 3, "--heads", 2,
                 "--feed-forward", 64, "--context", 256, "--window", 128]
                if self.quick else [])
        self.train("pretrain", "pycode-target", 5500,
                   "--tokenizer", self.path("tokenizer"), *size,
                   "--exit-scale", 0.2, "--layer-dropout", 0.05,
                   "--rate", 1.5e-2, "--muon-rate", 0.025)

    def drafters(self):
        for name, steps, hidden, heads, inner in (
                ("draft-1", 4000, 64, 2, 176), ("draft-2", 3000, 96, 3, 256)):
            if self.quick:
                hidden, heads, inner = 16, 2, 32
            self.train("pretrain", f"{name}-start", steps,
                       "--tokenizer", self.path("tokenizer"),
                       "--hidden", hidden, "--layers", 2, "--heads", heads,
                       "--feed-forward", inner, "--window", 256,
                       "--context", 256 if self.quick else 1024,
                       "--long-share", 0.0,
                       "--rate", 1.5e-2, "--muon-rate", 0.025)
        teaching = ["--target", self.path("pycode-target"), "--rate", 5e-3,
                    "--muon-rate", 0.015, "--own-share", 0.05,
                    "--long-share", 0.2]
        self.train("distill", "pycode-draft-1", 6500, *teaching,
                   "--student", self.path("draft-1-start"))
        self.train("boost", "pycode-draft-2", 5500, *teaching,
                   "--student", self.path("draft-2-start"),
                   "--before", self.path("pycode-draft-1"))

    def other(self):
        """A drafter that does not have the target's tokenizer."""
        size = [16, 2, 32] if self.quick else [64, 2, 176]
        self.train("pretrain", "pycode-other", 1000,
                   "--tokenizer", self.path("other-tokenizer"),
                   "--hidden", size[0], "--layers", 2, "--heads", size[1],
                   "--feed-forward", size[2], "--window", 256,
                   "--context", 256 if self.quick else 1024,
                   "--long-share", 0.05,
                   "--rate", 1.5e-2, "--muon-rate", 0.025)

    def heads(self):
        target = ["--target", self.path("pycode-target")]
        self.train("medusa", "pycode-medusa", 2000, *target)
        if self.quick:  # no shipped heads are of this kind
            self.train("medusa", "medusa-2", 2000, *target, "--train-target")
        self.train("eagle", "pycode-eagle1", 4000, *target, "--version", 1)
        self.train("eagle", "pycode-eagle3", 2400, *target, "--version", 3,
                   "--draft-vocab", 400 if self.quick else 1792)
        self.train("lookahead", "pycode-lookahead", 400, *target,
                   "--long-share", 0.05)

    def measure(self):
        limit = ["--limit", 4000] if self.quick else ["--compress"]
        if not (self.out / "measured-other.json").exists():
            self.call("measure", "--target", self.path("pycode-other"),
                      "--corpus", self.path("corpus"), "--exits", "--exclude",
                      "test/", *limit, "--out", self.path("measured-other.json"))
        if (self.out / "measured.json").exists():
            return
        self.call("measure", "--target", self.path("pycode-target"),
                  "--corpus", self.path("corpus"),
                  "--drafters", self.path("pycode-draft-1"),
                  self.path("pycode-draft-2"),
                  "--heads", self.path("pycode-medusa"),
                  "--eagle", self.path("pycode-eagle1"),
                  self.path("pycode-eagle3"),
                  "--lookahead", self.path("pycode-lookahead"),
                  "--exits", "--exclude", "test/", *limit,
                  "--out", self.path("measured.json"))

    def cards(self):
        about = ABOUT.format(version=platform.python_version())
        before = {"pycode-draft-1": ["draft-1-start"],
                  "pycode-draft-2": ["draft-2-start"]}
        for name in NAMES:
            measured = "-other" if name == "pycode-other" else ""
            self.call("card", "--model", self.path(name),
                      "--measured", self.path(f"measured{measured}.json"),
                      "--note", NOTES.get(name, ""),
                      "--corpus", self.path("corpus"), "--about", about,
                      "--stages", *(self.path(stage)
                                    for stage in before.get(name, [])))

    def train(self, recipe, name, steps, *arguments):
        quick = ["--steps", 20, "--batch", 4] if self.quick else [
            "--steps", steps]
        if self.quick and "--window" not in arguments:
            quick += ["--window", 128]
        compiled = [] if self.options.no_compile or self.quick else [
            "--compile"]
        super().train(recipe, name, *compiled, *quick, *arguments)
