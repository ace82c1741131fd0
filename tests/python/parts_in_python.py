"""Parts for the tests of the extension: right ones, wrong ones, and broken ones."""

import banyan
from banyan.examples import Broom


class Careless(banyan.Verifier):
    """Forgets what a refusal says."""

    def verify(self, tree, target, chance):
        path, node = [], 0
        while True:
            row = target[node]
            for number, draw in enumerate(tree.draws(node)):
                if draw.child is not None and chance.accept(
                        row.mass(draw.token) / draw.drawn_from.mass(draw.token), node,
                        number):
                    path.append(draw.child)
                    node = draw.child
                    break
            else:
                return path, chance.token(row, node)


class Counting(Broom):
    """Remembers its rounds."""

    rounds = 0

    def observe(self, tokens, drafted):
        self.rounds += 1

    def state(self):
        return [self.rounds]


class Repeats(banyan.Drafter):
    """The last token once more, with probability `share`; any other alike."""

    def __init__(self, vocabulary, share=.5):
        self.vocabulary, self.share = vocabulary, share

    def propose(self, tokens, path):
        last = int(path[-1] if len(path) else tokens[-1])
        rest = (1 - self.share) / self.vocabulary
        return [rest + self.share * (token == last) for token in range(self.vocabulary)]


class Broken(banyan.Verifier):
    """Fails in the way that `how` names."""

    kept = None

    def __init__(self, how):
        self.how = how

    def verify(self, tree, target, chance):
        how = self.how
        if how == "raises":
            raise ZeroDivisionError("mine")
        if how == "nan":
            chance.accept(float("nan"), 0)
        if how == "twice":
            chance.accept(.5, 0)
            chance.accept(.5, 0)
        if how == "path":
            return [len(tree) + 5], 0
        if how == "grandchild":
            return [0], 0
        if how == "token":
            return [], 10 ** 6
        if how == "shape":
            return 7
        if how == "node":
            target[len(tree)]
        if how == "mass":
            target[0].mass(-1)
        if how == "weights":
            chance.index([0.0, 0.0], 0)
        if how == "kept":
            if Broken.kept is not None:
                Broken.kept[0]
            Broken.kept = target
        if how == "calls":
            banyan.presets()
        return [], chance.token(target[0], 0)


class LacksAKey(banyan.Verifier):
    def __init__(self):
        {}["mine"]


class BrokenPolicy(banyan.TreePolicy):
    nodes, levels = 4, 2

    def __init__(self, how):
        self.how = how

    def next(self, tree):
        if len(tree) > 1:
            return []
        return {"closed": [(3, 1)], "twice": [(0, 1), (0, 1)], "many": [(0, 9)],
                "none": [(0, 0)], "shape": ["x"], "nan": [(0, 1, float("nan"))],
                "word": 5}[self.how]


class BrokenDrafter(banyan.Drafter):
    def __init__(self, how):
        self.how = how

    def propose(self, tokens, path):
        return {"nan": {0: float("nan")}, "negative": {0: -1.0}, "range": {10 ** 6: 1.0},
                "length": [1.0], "shape": "x", "none": None}[self.how]
