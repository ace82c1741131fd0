"""Runs parts that return nonsense, and prints how many runs there were and how many went
well.

    fuzz_parts.py FOLDER_OF_THE_EXTENSION SECONDS [SEED]

What kills the interpreter shows by its exit status.
"""

import os
import pathlib
import random
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "python")]
import banyan  # noqa: E402
import numpy  # noqa: E402

banyan.__path__.append(sys.argv[1])
chance_of = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 7)
KEPT = []
well = False  # whether the parts of this run do all rightly


def nonsense(depth=0):
    """A value of any kind that a part may hand back by mistake."""
    numbers = (0, 1, 2, -1, 3, 7, 10 ** 9, 2 ** 40, float("nan"), float("inf"), 1e-320, .5,
               True, None, "x", b"y")
    kind = chance_of.randrange(8 if depth < 2 else 4)
    if kind < 3:
        return chance_of.choice(numbers)
    if kind == 3:
        return chance_of.choice(KEPT) if KEPT else None
    items = [nonsense(depth + 1) for _ in range(chance_of.randrange(4))]
    if kind == 4:
        return tuple(items)
    if kind == 5:
        return items
    if kind == 6:
        return {str(item) if isinstance(item, (list, dict)) else item: nonsense(depth + 1)
                for item in items if not isinstance(item, (list, dict, tuple))}
    return numpy.array([item for item in items if isinstance(item, (int, float))],
                       dtype=chance_of.choice(("f8", "f4", "i4")))


def maybe(right):
    return right if well or chance_of.random() < .6 else nonsense()


def poke(value):
    """Asks a view for something, rightly or wrongly."""
    KEPT.append(value)
    del KEPT[:-8]
    names = [name for name in dir(value) if not name.startswith("_")]
    if well or not names or chance_of.random() < .5:
        return
    found = getattr(value, chance_of.choice(names))
    if callable(found):
        found(*(maybe(0) for _ in range(chance_of.randrange(4))))


class Verifier(banyan.Verifier):
    def verify(self, tree, target, chance):
        for view in (tree, chance, target, target[maybe(0)]):
            poke(view)
        for draw in tree.draws(0):
            poke(draw.drawn_from)
            if draw.child is not None and chance.accept(maybe(.5), 0, maybe(0)):
                return maybe(([draw.child], maybe(chance.token(target[draw.child], 1))))
        return maybe((maybe([]), maybe(0)))


class Policy(banyan.TreePolicy):
    nodes, levels = 3, 2

    def next(self, tree):
        poke(tree)
        return maybe([maybe((0, 1))] if len(tree) < 2 else [])

    def state(self):
        return maybe([1.0])


class Drafter(banyan.Drafter):
    def propose(self, tokens, path):
        poke(tokens)
        return maybe(maybe([.2, .8]))


def section(part):
    return {"python": banyan.parts.path_of(part)}


def main():
    global well
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    end, runs, right = time.monotonic() + float(sys.argv[2]), 0, 0
    table = {"start": [.3, .7], "next": [[.2, .8], [.6, .4]]}
    while time.monotonic() < end:
        which, well = chance_of.randrange(3), chance_of.random() < .1
        file = {"vocab": 2, "horizon": 2, "target": table, "max_branches": 2000,
                "drafters": [section(Drafter) if which == 0 else table],
                "policy": section(Policy) if which == 1 else {"name": "chain", "nodes": 2},
                "verifier": section(Verifier) if which == 2 else {"name": "multi_round"}}
        runs += 1
        try:
            banyan.exact(file)
            right += 1
        except Exception:  # any but the end of the interpreter
            pass
    print(runs, right)


if __name__ == "__main__":
    main()
