"""Small models as tables, and the trees that are drafted on them."""

import dataclasses
import hashlib

import numpy

from .chance import Tape

KINDS = ("independent", "without_replacement", "deterministic")


@dataclasses.dataclass(frozen=True)
class Setting:
    """How a row of logits becomes the target's distribution."""

    temperature: float = 1.0
    top_p: float = 1.0

    def __str__(self):
        top = "" if self.top_p == 1 else f", top-p {self.top_p:g}"
        return f"T = {self.temperature:g}{top}"

    def distribution(self, logits):
        scaled = logits / self.temperature
        masses = numpy.exp(scaled - scaled.max(axis=-1, keepdims=True))
        masses /= masses.sum(axis=-1, keepdims=True)
        if self.top_p < 1:
            for row in masses.reshape(-1, masses.shape[-1]):
                order = numpy.argsort(-row, kind="stable")
                # The fewest of the likeliest tokens that reach it.
                last = int(numpy.searchsorted(numpy.cumsum(row[order]), self.top_p))
                row[order[last + 1:]] = 0
                row /= row.sum()
        return masses


SETTINGS = (Setting(), Setting(temperature=.5), Setting(temperature=.7, top_p=.9))


class Table:
    """A model of `vocabulary` tokens that looks at the last two of a text."""

    def __init__(self, vocabulary, name, spread=1.5):
        self.vocabulary = vocabulary
        self._name, self._spread, self._rows = name, spread, {}

    def logits(self, text):
        end = tuple(text[-2:])
        if end not in self._rows:
            # The same numbers everywhere: not from a generator that may change.
            row = [int.from_bytes(hashlib.sha256(
                f"{self._name} {self.vocabulary} {end} {token}".encode()).digest()[:6],
                "big") / 2 ** 48 for token in range(self.vocabulary)]
            self._rows[end] = self._spread * (2 * numpy.array(row) - 1)
        return self._rows[end]


@dataclasses.dataclass
class Tree:
    """A tree of drafted tokens, in the order in which its nodes were made.

    Node 0 is the last token of the text. `drawn_from[i]` is the distribution that draw i
    was made from. The function may compute with `logits` itself: they are the target's,
    by node, before temperature and top-p.
    """

    tokens: numpy.ndarray
    parents: numpy.ndarray
    depths: numpy.ndarray
    draws: numpy.ndarray
    drawn_from: numpy.ndarray
    logits: numpy.ndarray
    temperature: float
    top_p: float
    text: tuple

    def children(self, node):
        return [int(child) for child in numpy.flatnonzero(self.parents == node)]

    def paths(self):
        """From the root to each leaf, nodes."""
        inner = set(self.parents.tolist())
        leaves = [node for node in range(len(self.tokens)) if node not in inner]
        return [self.path(leaf) for leaf in leaves]

    def path(self, node):
        nodes = [node]
        while nodes[-1] != 0:
            nodes.append(int(self.parents[nodes[-1]]))
        return nodes[::-1]


def draft(tape: Tape, target, drafter, text, branching, kind, setting):
    """Drafts a tree and returns a rule's arguments: p, q, draws and tree."""
    tokens, parents, depths = [text[-1]], [-1], [0]
    draws, drawn_from = [], []
    level = [0]

    def row(model, node):
        nodes = [node]
        while nodes[-1] != 0:
            nodes.append(parents[nodes[-1]])
        return model.logits([*text, *(tokens[i] for i in nodes[-2::-1])])

    def proposal(node):
        return Setting().distribution(row(drafter, node))

    for count in branching:
        following = []
        for node in level:
            remaining, children = proposal(node), {}
            for _ in range(min(count, len(remaining)) if kind != "independent" else count):
                token = (int(remaining.argmax()) if kind == "deterministic"
                         else tape.choose(remaining))
                if token not in children:
                    children[token] = len(tokens)
                    following.append(len(tokens))
                    tokens.append(token)
                    parents.append(node)
                    depths.append(depths[node] + 1)
                draws.append((node, token, children[token]))
                made_from = remaining.copy()
                if kind == "deterministic":
                    made_from = numpy.zeros_like(remaining)
                    made_from[token] = 1
                drawn_from.append(made_from)
                if kind != "independent":
                    remaining[token] = 0
                    remaining /= remaining.sum() or 1
        level = following
    logits = numpy.stack([row(target, node) for node in range(len(tokens))])
    tree = Tree(tokens=numpy.array(tokens), parents=numpy.array(parents),
                depths=numpy.array(depths), draws=numpy.array(draws),
                drawn_from=numpy.array(drawn_from), logits=logits,
                temperature=setting.temperature, top_p=setting.top_p, text=tuple(text))
    q = numpy.stack([proposal(node) for node in range(len(tokens))])
    return setting.distribution(logits), q, tree.draws, tree
