"""Example parts in Python: a verifier, a tree policy and a drafter.

    verifier: {python: "banyan.examples:Rounds"}
"""

from .parts import Drafter, TreePolicy, Verifier


class Rounds(Verifier):
    """SpecInfer's multi-round rule."""

    def verify(self, tree, target, chance):
        path, node = [], 0
        while True:
            row = target[node]
            for number, draw in enumerate(tree.draws(node)):
                made_from = draw.drawn_from
                if draw.child is not None and chance.accept(
                        row.mass(draw.token) / made_from.mass(draw.token), node, number):
                    path.append(draw.child)
                    node = draw.child
                    break
                row = row.residual(made_from)
            else:
                return path, chance.token(row, node)


class Broom(TreePolicy):
    """Two draws at the root, and a line of `length` tokens below the first child."""

    def __init__(self, length=1):
        self.length = length
        self.nodes, self.levels = 2 + length, 1 + length

    def next(self, tree):
        if not tree.drawn(0):
            return [(0, 2)]
        end = 1  # of the line: the first child of the first child
        for node in range(2, len(tree)):
            if tree.parent(node) == end:
                end = node
        if len(tree) > 1 and tree.depth(end) <= self.length and tree.open(end):
            return [(end, 1)] if not tree.drawn(end) else []
        return []


class Seen(Drafter):
    """Proposes the token that last followed the current one in the text."""

    def begin(self, tokens):
        self.after = {}
        self.learn(tokens)

    def learn(self, tokens):
        for token, following in zip(tokens, tokens[1:]):
            self.after[int(token)] = int(following)

    def propose(self, tokens, path):
        last = int(path[-1] if len(path) else tokens[-1])
        return {self.after[last]: 1.0} if last in self.after else {}

    def observe(self, tokens, accepted):
        self.learn(tokens[-len(accepted) - 1:])
