"""A rule of ten lines with a mistake that is easy to make.

    python examples/referee/wrong.py
"""

import sys

import banyan.referee
import numpy


def first_chance_only(p, q, draws, tree):
    """Accepts each draw with p/q, and after the last refusal draws from p itself."""
    tokens, node = [], 0
    while True:
        for index, (at, token, child) in enumerate(draws):
            if at == node and numpy.random.random() * tree.drawn_from[index][token] < p[
                    node][token]:
                tokens.append(int(token))
                node = child
                break
        else:
            return [*tokens, numpy.random.choice(len(p[node]), p=p[node])]


if __name__ == "__main__":
    verdict = banyan.referee.exact_of(first_chance_only)
    print(verdict)
    sys.exit(not verdict.exact)
