"""exact_of: compares a verification rule's output distribution with the target's."""

import dataclasses
import itertools
import math
import operator
import random
import typing
import warnings

import numpy

from . import rules, stand_ins
from .chance import CannotEnumerate, SampledOnly, Tape
from .toys import KINDS, SETTINGS, Setting, Table, draft

# The shapes: draws at each node, by level.
CHAINS = ((1,), (1, 1))
TREES = (*CHAINS, (2,), (3,), (2, 1))
TOLERANCE = {"double": 1e-12, "float": 1e-5}
# Of one tree: what takes longer to enumerate shows no more.
MOST_DRAWS = 32
# Rounds of a case: the texts that are compared are so much longer than the tree.
ROUNDS = 2


@dataclasses.dataclass(frozen=True)
class Case:
    """A toy model, a shape and a setting, and what came out."""

    vocabulary: int
    branching: tuple
    setting: Setting
    draws: str
    total_variation: float
    worst: tuple            # the text with the largest difference
    worst_probability: float
    target_probability: float
    tokens_per_round: float
    runs: int
    found: float = 0.0      # of a sampled case: what would have been found

    def is_right(self, tolerance):
        """Whether no difference was found."""
        if self.found:
            return abs(self.worst_probability - self.target_probability) <= self.found / 2
        return self.total_variation <= tolerance

    @property
    def name(self):
        shape = "x".join(map(str, self.branching))
        return f"{self.vocabulary} tokens, draws {shape}, {self.setting}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is known of a rule. `print` shows it as a table."""

    name: str
    cases: list
    tolerance: float
    resembles: typing.Optional[tuple] = None  # a mistake and how near it is
    why_sampled: str = ""

    @property
    def sampled(self):
        return bool(self.why_sampled)

    @property
    def exact(self):
        """Whether every case is right, within the tolerance or what samples can show."""
        return all(case.is_right(self.tolerance) for case in self.cases)

    @property
    def worst(self):
        return max(self.cases, key=lambda case: case.total_variation)

    def __str__(self):
        word = "exact" if self.exact else "NOT the target's distribution"
        if self.sampled:
            word = ("sampled, no difference found" if self.exact
                    else "NOT the target's distribution, by samples")
        lines = [f"{self.name}: {word}"]
        if self.sampled:
            lines.append(f"  cannot be enumerated: {self.why_sampled}; a text whose "
                         f"probability is off by {max(c.found for c in self.cases):.3f} "
                         f"is found with 95 % probability")
        lines.append(f"  {'case':<42}{'total variation':>16}{'tokens per round':>18}"
                     f"{'runs':>8}  worst text")
        for case in self.cases:
            text = " ".join(map(str, case.worst))
            lines.append(f"  {case.name:<42}{case.total_variation:>16.1e}"
                         f"{case.tokens_per_round:>18.3f}{case.runs:>8}  {text}: "
                         f"{case.worst_probability:.4f} for {case.target_probability:.4f}")
        lines.append(f"  tolerance {self.tolerance:g}")
        if self.resembles is not None:
            mistake, distance = self.resembles
            lines.append(f"  most like the mistake: {mistake} (total variation "
                         f"{distance:.1e} from it)")
        return "\n".join(lines)


def _checked(tokens, tree, vocabulary):
    """The function's tokens: a path of the tree and one token more."""
    try:
        tokens = [operator.index(token) for token in
                  (tokens.tolist() if hasattr(tokens, "tolist") else tokens)]
    except (TypeError, ValueError) as error:
        raise TypeError("expected a list of tokens, those of the accepted path and the one "
                        f"after it, found {tokens!r}") from error
    if not tokens:
        raise ValueError("expected at least the token after the path, found no token")
    if not all(0 <= token < vocabulary for token in tokens):
        raise ValueError(f"expected tokens from 0 to {vocabulary - 1}, found {tokens}")
    node = 0
    for at, token in enumerate(tokens[:-1]):
        below = [child for child in tree.children(node) if tree.tokens[child] == token]
        if not below:
            raise ValueError(f"expected a path of the tree and one token after it, found "
                             f"{tokens}: no child of node {node} has token {token} "
                             f"(position {at})")
        node = below[0]
    return tuple(tokens)


class _Toy:
    """Runs a rule on one toy model."""

    def __init__(self, function, vocabulary, branching, kind, setting):
        self.function, self.vocabulary = function, vocabulary
        self.branching, self.kind, self.setting = branching, kind, setting
        self.target = Table(vocabulary, "target")
        self.drafter = Table(vocabulary, "drafter")
        self.runs = 0
        self._rounds = {}  # by the end of the text: [(tokens, probability)]

    def once(self, tape, text):
        """One round after `text`, whose draws are the tape's."""
        arguments = draft(tape, self.target, self.drafter, text, self.branching, self.kind,
                          self.setting)
        return _checked(self.function(*arguments), arguments[3], self.vocabulary)

    def round(self, text):
        end = tuple(text[-2:])
        if end not in self._rounds:
            found, tape = {}, Tape()
            with stand_ins.replaced(tape):
                for tokens in tape.runs(lambda: self.once(tape, end)):
                    found[tokens] = found.get(tokens, 0.0) + tape.probability
                    self.runs += 1
            self._rounds[end] = found
        return self._rounds[end]

    def target_row(self, text):
        return self.setting.distribution(self.target.logits(text))

    def texts(self, horizon, round_of):
        """The distribution of `horizon` tokens after ROUNDS rounds."""
        def more(text, left, rounds):
            if left == 0:
                return {(): 1.0}
            if rounds == 0:
                ways = {(token,): mass for token, mass in enumerate(self.target_row(text))}
            else:
                ways = round_of(text)
            found = {}
            for tokens, probability in ways.items():
                tokens = tokens[:left]
                if probability == 0:
                    continue
                for rest, mass in more((*text, *tokens), left - len(tokens),
                                       max(rounds - 1, 0)).items():
                    key = tokens + rest
                    found[key] = found.get(key, 0.0) + probability * mass
            return found
        return more((0, 0), horizon, ROUNDS)


def _plain(toy, text):
    return {(token,): mass for token, mass in enumerate(toy.target_row(text))}


def _case(toy, distribution, runs, first, found=0.0):
    horizon = len(toy.branching) + 2
    plain = toy.texts(horizon, lambda text: _plain(toy, text))
    differences = {text: distribution.get(text, 0.0) - plain.get(text, 0.0)
                   for text in itertools.product(range(toy.vocabulary), repeat=horizon)}
    worst = max(differences, key=lambda text: abs(differences[text]))
    return Case(vocabulary=toy.vocabulary, branching=toy.branching, setting=toy.setting,
                draws=toy.kind, worst=worst, worst_probability=distribution.get(worst, 0.0),
                target_probability=plain.get(worst, 0.0), runs=runs, found=found,
                total_variation=sum(map(abs, differences.values())) / 2,
                tokens_per_round=sum(len(tokens) * mass for tokens, mass in first.items()))


def _enumerate(toy):
    horizon = len(toy.branching) + 2
    distribution = toy.texts(horizon, toy.round)
    return distribution, _case(toy, distribution, toy.runs, toy.round((0, 0)))


def _sample(toy, samples, seed, cases):
    """Samples texts of one case; `cases` is the number of all cases.

    With 95 % probability no text of a right rule in any case is off by more than half of
    `found`, and a text that is off by `found` is seen to be off.
    """
    horizon = len(toy.branching) + 2
    chance = numpy.random.default_rng(seed)
    random.seed(seed)
    numpy.random.seed(seed % 2 ** 32)
    try:
        import torch
        torch.manual_seed(seed)
    except ImportError:
        pass
    distribution, first = {}, {}
    tape = _Drawn(chance)
    for _ in range(samples):
        text = (0, 0)
        for index in range(ROUNDS):
            tokens = toy.once(tape, text)
            if index == 0:
                first[tokens] = first.get(tokens, 0.0) + 1 / samples
            text += tokens
        while len(text) < horizon + 2:
            text += (int(chance.choice(toy.vocabulary, p=toy.target_row(text))),)
        key = text[2:horizon + 2]
        distribution[key] = distribution.get(key, 0.0) + 1 / samples
    # Hoeffding's bound, for every text of every case at once.
    count = toy.vocabulary ** horizon * cases
    found = 2 * math.sqrt(math.log(2 * count / .05) / (2 * samples))
    return distribution, dataclasses.replace(_case(toy, distribution, samples, first), found=found)


class _Drawn:
    """A tape that draws."""

    def __init__(self, chance):
        self._chance = chance

    def choose(self, weights):
        weights = numpy.asarray(weights, dtype=float)
        return int(self._chance.choice(len(weights), p=weights / weights.sum()))


def _distance(a, b):
    return sum(abs(a.get(text, 0.0) - b.get(text, 0.0)) for text in {*a, *b}) / 2


def _resembles(toys, found):
    """The mistake whose distributions are nearest in the worst cases, and how near."""
    order = sorted(range(len(toys)), key=lambda i: -found[i][1].total_variation)[:3]
    toys, distributions = [toys[i] for i in order], [found[i][0] for i in order]
    ways = []
    for mistake in rules.MISTAKES:
        def wrong(p, q, draws, tree, mistake=mistake):
            return rules.multi_round(p, q, draws, tree, mistake)
        distance = 0.0
        for toy, distribution in zip(toys, distributions):
            other = _Toy(wrong, toy.vocabulary, toy.branching, toy.kind, toy.setting)
            distance = max(distance, _distance(distribution, _enumerate(other)[0]))
        ways.append((distance, mistake))
    distance, mistake = min(ways)
    return mistake, distance


def exact_of(function, *, draws="independent", trees=None, settings=SETTINGS,
             vocabularies=(2, 3, 4), precision="double", samples=20_000, seed=0):
    """Computes a verification rule's exact output distribution on toy models.

    `function(p, q, draws, tree)` verifies one round. Its arguments are:

    - `p`: the target's distribution at each node of a draft tree, nodes x vocabulary
    - `q`: the drafter's distributions, in the same form
    - `draws`: rows of node, token and child, in the order in which they were drawn
    - `tree`: a Tree

    It returns the tokens of the accepted path and the one token after the path. It may use
    `random`, `numpy.random` and PyTorch: every outcome is tried, with its probability.

    `draws` is how the tree is drawn: "independent", "without_replacement" or
    "deterministic" (the likeliest tokens). `trees` are shapes, such as (2, 1): two draws at
    the root, one below; "chains" are those with one draw a node. `precision` is that of the
    function's arithmetic, "double" or "float", and decides the tolerance.

    A rule that needs the value of a random number, as in float(u), cannot be enumerated. It
    is sampled `samples` times per case, with a warning (SampledOnly), and the verdict gives
    the difference that they can detect. Errors of the function are raised unchanged.
    """
    if draws not in KINDS:
        raise ValueError(f"draws: expected one of {', '.join(KINDS)}, found {draws!r}")
    if precision not in TOLERANCE:
        raise ValueError(f"precision: expected double or float, found {precision!r}")
    if isinstance(trees, str) and trees != "chains":
        raise ValueError(f"trees: expected shapes or 'chains', found {trees!r}")
    shapes = TREES if trees is None else CHAINS if trees == "chains" else trees
    shapes = [tuple(shape) for shape in shapes]
    settings = [setting if isinstance(setting, Setting) else Setting(**setting)
                for setting in settings]
    name = getattr(function, "__name__", repr(function))
    toys = [_Toy(function, vocabulary, shape, draws, setting)
            for setting in settings for shape in shapes for vocabulary in vocabularies
            if vocabulary ** sum(shape) <= MOST_DRAWS]
    if not toys:
        raise ValueError("no case: expected shapes and vocabularies that are small enough")
    why = ""
    try:
        found = [_enumerate(toy) for toy in toys]
    except CannotEnumerate as error:
        why = str(error)
        warnings.warn(SampledOnly(f"{name} cannot be enumerated and is sampled: {why}"),
                      stacklevel=2)
        found = [_sample(toy, samples, seed + i, len(toys)) for i, toy in enumerate(toys)]
    verdict = Verdict(name=name, cases=[case for _, case in found],
                      tolerance=TOLERANCE[precision], why_sampled=why)
    if verdict.exact or verdict.sampled:
        return verdict
    return dataclasses.replace(verdict, resembles=_resembles(toys, found))
