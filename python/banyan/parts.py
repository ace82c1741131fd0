"""Base classes of parts that are written in Python.

A section of an experiment names a class. Its other keys are the class's arguments:

    verifier: {python: "mine:Careful", share: 0.9}
"""

import importlib
import os
import pathlib
import sys

_everywhere = False


def allow_everywhere():
    """Lets YAML files outside the working folder name classes too."""
    global _everywhere
    _everywhere = True


class Verifier:
    """Accepts or rejects the draws of a draft tree, given the target's rows.

    A row is a distribution of the next token. `verify` returns the accepted nodes, from
    the root's child down, and the token after them. All randomness comes from `chance`.
    Each choice is identified by its node and its draw at that node.
    """

    draws = ("independent", "without_replacement", "deterministic")
    lossless = True      # the claim, which `banyan.exact` and runs check
    chain = False        # it judges at most one draw per node
    one_list = False     # at most one drafter draws at a node
    fixed_counts = False  # the number of draws at a node is fixed before the first

    def verify(self, tree, target, chance):
        """`target[node]` is the target's row after a node (read lazily)."""
        raise NotImplementedError


class TreePolicy:
    """Decides what is drafted next.

    `next` returns the nodes to draw tokens at. An empty list ends the draft. `next` sees
    earlier draws only, so no policy can make a method lossy. If `tree.remaining(node)` of
    a returned node is None, the drafter proposes there first and `next` is called again.
    """

    draws = ("independent", "without_replacement", "deterministic")
    nodes = 1            # the most nodes drafted in a round
    levels = 1           # the most levels of a tree
    chain = False        # at most one draw per node, and one expanded child
    adapts = True        # the shape depends on proposals, or on earlier rounds
    fixed_counts = False

    def next(self, tree):
        """A list of (node, draws) or (node, draws, least mass)."""
        raise NotImplementedError

    def observe(self, tokens, drafted):
        """Called after a round with its tokens and the number of `drafted` nodes."""

    def state(self):
        """Returns everything kept from round to round, as numbers."""
        return []


class Drafter:
    """Proposes what may follow.

    Each sequence has a copy of its own. `propose` must not change what later calls return:
    a round can be abandoned.
    """

    draws = ("independent", "without_replacement", "deterministic")

    def begin(self, tokens):
        """The prompt."""

    def propose(self, tokens, path):
        """The row after the text and the drafted tokens that follow it.

        A Row, a dict of tokens and masses, or a list or array with a mass for each token.
        """
        raise NotImplementedError

    def observe(self, tokens, accepted):
        """Called after a round. `tokens` already ends with the `accepted` tokens."""


class Metric:
    """A ratio in a report. Each prompt adds to its numerator and denominator.

        class Rounds(banyan.Metric):
            name, sentence, unit = "rounds_per_token", "Rounds a token takes.", ""

            def count(self, cell, record, baseline):
                return len(record.rounds), len(record.tokens)

        banyan.add_metric(Rounds())
        banyan.report("out/hello").summary("rounds_per_token")
    """

    name = sentence = unit = ""

    def count(self, cell, record, baseline):
        """Returns (numerator, denominator) of a prompt; by key a dict of them; or None.

        None leaves the prompt out. The arguments are messages of banyan.records: Cell, PromptRecord, and the
        baseline's PromptRecord or None.
        """
        raise NotImplementedError


def file_of(name):
    """The source file of a class, "" if it has none. Called by the extension."""
    module = sys.modules.get(name.partition(":")[0])
    file = getattr(module, "__file__", None) or ""
    return file if os.path.isfile(file) else ""


def path_of(part):
    """The word by which a section names a class."""
    return f"{part.__module__}:{part.__qualname__}"


class Misnamed(Exception):
    """A section names a class that cannot be had; told with the section's place."""


def _module(name, part):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise  # the module is there, and lacks another one
        raise Misnamed(f"'{part}': {error}") from error


def make(name, base, arguments, file):
    """The part that a section describes. Called by the extension."""
    if file and not _everywhere:
        inside = pathlib.Path(file).resolve()
        if pathlib.Path.cwd() not in inside.parents:
            raise Misnamed(f"'{name}': the file is outside the working folder; "
                              "--allow-python lets it name classes")
    module_name, colon, class_name = name.partition(":")
    if not colon or not module_name or not class_name:
        raise Misnamed(f"expected module:Class, found '{name}'")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    part = _module(module_name, name)
    for word in class_name.split("."):
        if not hasattr(part, word):
            raise Misnamed(f"module '{module_name}' has no class '{class_name}'")
        part = getattr(part, word)
    bases = {"Verifier": Verifier, "TreePolicy": TreePolicy, "Drafter": Drafter}
    if not (isinstance(part, type) and issubclass(part, bases[base])):
        raise Misnamed(f"'{name}': expected a subclass of banyan.{base}, found {part!r}")
    return part(**arguments)
