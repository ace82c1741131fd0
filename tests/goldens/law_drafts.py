"""Toy bigram tables and the trees that are drafted from them, in exact rationals:
the first half of law_oracle.py, which has the words.
"""

import itertools
from fractions import Fraction

ZERO, ONE = Fraction(0), Fraction(1)


def positive_part(a, b):
    return [max(x - y, ZERO) for x, y in zip(a, b)]


def normalised(row):
    total = sum(row)
    return [x / total for x in row] if total else None


def one_hot(token, size):
    return [ONE if x == token else ZERO for x in range(size)]


def ranked(row):
    """Tokens from the likeliest to the least likely, ties to the lower id."""
    return sorted(range(len(row)), key=lambda x: (-row[x], x))


def residual(cur, q):
    return normalised(positive_part(cur, q))


class Table:
    """A bigram model. Temperature 1 keeps its rows, 0 makes them one-hot."""

    def __init__(self, start, following, temperature=1):
        self.rows = {None: [Fraction(x) for x in start]}
        for token, row in enumerate(following):
            self.rows[token] = [Fraction(x) for x in row]
        for row in self.rows.values():
            assert sum(row) == 1 and min(row) >= 0, row
        self.temperature = temperature

    def raw(self, state, node):
        return self.rows[node[-1] if node else state]

    def row(self, state, node):
        raw = self.raw(state, node)
        if self.temperature == 1:
            return raw
        return one_hot(ranked(raw)[0], len(raw))


# ---- Drafting -----------------------------------------------------------------


def draw_lists(drafter, state, node, count, law):
    """[(probability, draws)] for `count` draws at one node."""
    q = drafter.row(state, node)
    size = len(q)
    if law == "deterministic":
        best = ranked(drafter.raw(state, node))[:count]
        return [(ONE, [(x, one_hot(x, size)) for x in best])]
    lists = [(ONE, [], q)]
    for _ in range(count):
        longer = []
        for probability, draws, cur in lists:
            if cur is None:  # the support is exhausted
                longer.append((probability, draws, None))
                continue
            for x in range(size):
                if cur[x] == 0:
                    continue
                rest = cur
                if law == "without_replacement":
                    rest = list(cur)
                    rest[x] = ZERO
                    rest = normalised(rest)
                longer.append(
                    (probability * cur[x], draws + [(x, cur)], rest))
        lists = longer
    return [(probability, draws) for probability, draws, _ in lists]


def children(draws):
    """The distinct tokens drawn, in the order of their first draws."""
    return list(dict.fromkeys(x for x, _ in draws))


def expansion(drafter, state, branching, law):
    """[(probability, tree)]; a node is expanded once, whatever led to it."""
    grown = [(ONE, {}, [()])]
    for count in branching:
        longer = []
        for probability, tree, level in grown:
            options = [
                draw_lists(drafter, state, node, count, law) for node in level
            ]
            for choice in itertools.product(*options):
                weight, taller, below = probability, dict(tree), []
                for node, (p, draws) in zip(level, choice):
                    weight *= p
                    taller[node] = draws
                    below += [node + (x,) for x in children(draws)]
                longer.append((weight, taller, below))
        grown = longer
    return [(probability, tree) for probability, tree, _ in grown]


def sequences(drafter, state, count, gamma):
    """[(probability, tree)]; every chain keeps its own draws."""
    chains = [
        (probability, tree)
        for probability, tree in expansion(drafter, state, [1] * gamma,
                                           "independent")
    ]
    grown = [(ONE, {})]
    for _ in range(count):
        grown = [(p1 * p2, joined(tree, chain)) for p1, tree in grown
                 for p2, chain in chains]
    return grown


def joined(first, second):
    """Both trees in one trie: at each node the first's draws, then the other's."""
    both = {node: list(draws) for node, draws in first.items()}
    for node, draws in second.items():
        both[node] = both.get(node, []) + draws
    return both


def draft(trunks, state):
    grown = [(ONE, {})]
    for drafter, policy in trunks:
        law = policy.get("draws", "independent")
        if policy["name"] == "chain":
            trees = expansion(drafter, state, [1] * policy["nodes"], law)
        elif policy["name"] == "expansion":
            trees = expansion(drafter, state, policy["branching"], law)
        else:
            assert policy["name"] == "sequences" and law == "independent"
            trees = sequences(drafter, state, policy["width"],
                              policy["levels"])
        grown = [(p1 * p2, joined(tree, more)) for p1, tree in grown
                 for p2, more in trees]
    return grown
