"""Parts of a method that are written in Python.

A section of an experiment names one by its class, and gives the class its other keys:

    verifier: {python: "mine:Careful", share: 0.9}
"""

import importlib
import os
import pathlib
import sys

_everywhere = False


def allow_everywhere():
    """YAML files outside the working folder may name classes too."""
    global _everywhere
    _everywhere = True


class Verifier:
    """Judges a drafted tree by the target's rows.

    `verify` returns the accepted nodes, from the root's child down, and the token after
    them. All chance comes from `chance`; each choice is named by the node, and the draw at
    it, that it is about.
    """

    draws = ("independent", "without_replacement", "deterministic")
    lossless = True      # what it claims; `banyan.exact` and runs hold it to that
    chain = False        # it judges at most one draw a node
    one_list = False     # at most one drafter draws at a node
    fixed_counts = False  # draws at a node are fixed before the first of them

    def verify(self, tree, target, chance):
        """`target[node]` is the target's row after a node (read lazily)."""
        raise NotImplementedError


class TreePolicy:
    """Decides what is drafted next.

    `next` names nodes that tokens are to be drawn at, until it returns nothing. It sees
    what was drawn before and nothing else, which keeps every method lossless. A node whose
    `tree.remaining(node)` is None is asked for first, and `next` is called again.
    """

    draws = ("independent", "without_replacement", "deterministic")
    nodes = 1            # it drafts at most, in a round
    levels = 1           # of its tree, at most
    chain = False        # at most one draw a node, and one child that goes on
    adapts = True        # the shape depends on proposals, or on earlier rounds
    fixed_counts = False

    def next(self, tree):
        """A list of (node, draws) or (node, draws, least mass)."""
        raise NotImplementedError

    def observe(self, tokens, drafted):
        """A round gave these tokens; `drafted` nodes were handed over."""

    def state(self):
        """All that it remembers from round to round, as numbers."""
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
        """A round is over: the text holds its tokens, which are `accepted`."""


def path_of(part):
    """The word by which a section names a class."""
    return f"{part.__module__}:{part.__qualname__}"


def make(name, base, arguments, file):
    """The part that a section describes. Called by the extension."""
    if file and not _everywhere:
        inside = pathlib.Path(file).resolve()
        if pathlib.Path.cwd() not in inside.parents:
            raise LookupError(f"'{name}': the file is outside the working folder; "
                              "--allow-python lets it name classes")
    module_name, colon, class_name = name.partition(":")
    if not colon or not module_name or not class_name:
        raise LookupError(f"expected module:Class, found '{name}'")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    part = importlib.import_module(module_name)
    for word in class_name.split("."):
        if not hasattr(part, word):
            raise LookupError(f"module '{module_name}' has no class '{class_name}'")
        part = getattr(part, word)
    bases = {"Verifier": Verifier, "TreePolicy": TreePolicy, "Drafter": Drafter}
    if not (isinstance(part, type) and issubclass(part, bases[base])):
        raise LookupError(f"'{name}': expected a subclass of banyan.{base}, found {part!r}")
    return part(**arguments)
