"""Banyan in Python: its commands as functions, parts as classes, records as tables.

    import banyan
    report = banyan.run("configs/hello.yaml", out="out/hello")
    print(report.answer)
    banyan.records.read("out/hello").rounds.pandas()

Functions take a YAML file, YAML text or a dict, and return what the command of the same
name prints with --json. A part is a subclass of Verifier, TreePolicy or Drafter. An
experiment names it as {python: "module:Class"}. `banyan.referee` checks whether any
verification function is exact. The functions need the extension (python/README.md);
`banyan.records` and `banyan.referee` do not.
"""

import importlib

from .parts import Drafter, Metric, TreePolicy, Verifier
from .proof import Proof, prove
from .program import (Error, add_metric, check, command, exact, generate, measure, presets,
                      report, run, tree)



def __getattr__(name):
    """The modules that need other packages: protobuf, numpy."""
    if name in ("records", "referee"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Drafter", "Error", "Metric", "Proof", "TreePolicy", "Verifier", "add_metric",
           "check", "command", "exact", "generate", "measure", "presets", "prove", "records",
           "referee", "report", "run", "tree"]
