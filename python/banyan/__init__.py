"""Banyan in Python: its commands as functions, parts as classes, records as tables.

    import banyan
    report = banyan.run("configs/hello.yaml", out="out/hello")
    print(report.answer)
    banyan.records.read("out/hello").rounds.pandas()

Functions take a YAML file, YAML text or a dict, and return what the command of the same
name prints with --json. A part is a subclass of Verifier, TreePolicy or Drafter, which an
experiment names by {python: "module:Class"}. `banyan.referee` judges any verification
function. The functions need the extension (python/README.md); `banyan.records` and
`banyan.referee` do not.
"""

import importlib

from .parts import Drafter, TreePolicy, Verifier
from .proof import Proof, prove
from .program import (Error, check, command, exact, generate, measure, presets, report, run,
                      tree)



def __getattr__(name):
    """The modules that need other packages: protobuf, numpy."""
    if name in ("records", "referee"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Drafter", "Error", "Proof", "TreePolicy", "Verifier", "check", "command", "exact",
           "generate", "measure", "presets", "prove", "records", "referee", "report", "run",
           "tree"]
