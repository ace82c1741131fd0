"""Recipes that run one after another, each once: what `shipped` and `contrasts`
share. A run that was stopped goes on where it was.
"""

import argparse
import importlib
import pathlib
import sysconfig

import torch

from training.errors import UserError
from training.files import copy_file

TEST = ["asyncio/", "http/", "json/", "tomllib/", "wsgiref/", "zoneinfo/",
        "test/test_asyncio/", "test/test_json/", "test/test_tomllib/",
        "test/test_zoneinfo/"]
VALIDATION = ["email/", "logging/", "test/test_email/"]
INSTALLED = ("config.json", "model.safetensors", "medusa_lm_head.safetensors",
             "tokenizer.json", "tokenizer_config.json", "vocabulary.json",
             "made_for.json", "training.json", "README.md")


def add_arguments(parser, out):
    parser.add_argument("--out", default=out, metavar="DIR",
                        help="default: %(default)s")
    parser.add_argument("--smoke", action="store_true",
                        help="tiny runs on a little text")
    parser.add_argument("--precision", choices=("f32", "bf16"),
                        default=usual_precision(), help="of products (default: bf16 "
                        "on a GPU or a processor that multiplies it, as here "
                        "%(default)s)")
    parser.add_argument("--device", default="auto", metavar="D")


def usual_precision():
    """bf16 where that is fast; a processor without it takes twenty times as long."""
    if torch.cuda.is_available():
        return "bf16"
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return "f32"
    return "bf16" if {"avx512_bf16", "amx_bf16"} & set(flags) else "f32"


class Stages:
    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(options.out)
        if options.smoke:
            self.out /= "smoke"
        self.quick = options.smoke

    def path(self, name):
        return str(self.out / name)

    def corpus(self):
        """The sources of the library that this Python came with."""
        library = pathlib.Path(sysconfig.get_paths()["stdlib"])
        if not (library / "test" / "test_json").is_dir():
            raise UserError(f"{library}: this Python came without the tests "
                            "of its library, which are half of the corpus")
        if (self.out / "corpus" / "corpus.json").exists():
            return
        source = [library]
        if self.quick:
            source = [library / "unittest", library / "http",
                      library / "json", library / "email"]
        held = ({"test": ["server", "scanner"], "validation": ["client"]}
                if self.quick else {"test": TEST, "validation": VALIDATION})
        self.call("corpus", "--source", *source, "--out", self.path("corpus"),
                  "--exclude", "site-packages/", "--test", *held["test"],
                  "--validation", *held["validation"])

    def install(self, names):
        """Copies what was made to the folder that --install names."""
        for name in names:
            to = pathlib.Path(self.options.install) / name
            for file in INSTALLED:
                if (self.out / name / file).exists():
                    copy_file(self.out / name / file, to / file)
            print(to)

    def train(self, recipe, name, *arguments):
        self.call(recipe, "--corpus", self.path("corpus"), "--out",
                  self.path(name), "--precision", self.options.precision,
                  "--device", self.options.device, *arguments)

    def call(self, recipe, *arguments):
        """Runs another recipe as its command would."""
        words = [str(argument) for argument in arguments]
        print(f"== {recipe} {' '.join(words)}", flush=True)
        module = importlib.import_module(f"training.{recipe}")
        parser = argparse.ArgumentParser(prog=recipe)
        module.add_arguments(parser)
        options = parser.parse_args(words)
        options.words = words
        module.run(options)
