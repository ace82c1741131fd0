"""SpecInfer's multi-round rule, correct or with one known mistake."""

import numpy


def _draw(random, masses):
    return int(random.choice(len(masses), p=masses / masses.sum()))


def multi_round(p, q, draws, tree, mistake=""):
    """SpecInfer's multi-round rule on draws in the order of time."""
    random = numpy.random
    tokens, node = [], 0
    while True:
        target = p[node].copy()
        if mistake == "the token after the path is drawn at temperature 1":
            if not (draws[:, 0] == node).any():
                raw = numpy.exp(tree.logits[node] - tree.logits[node].max())
                target = numpy.where(target > 0, raw, 0) / raw[target > 0].sum()
        accepted, seen, coin = None, set(), None
        for i, (at, token, child) in enumerate(draws):
            if at != node:
                continue
            if mistake == "a token drawn again is not judged again" and token in seen:
                continue
            seen.add(int(token))
            made_from = tree.drawn_from[i]
            if mistake == "draws are judged by the drafter's whole distribution":
                made_from = q[node]
            chance = target[token] / made_from[token] if made_from[token] > 0 else 1.0
            if mistake == "every draw is accepted":
                chance = 1.0
            if mistake == "one coin for all draws at a node":
                coin = random.random() if coin is None else coin
            else:
                coin = random.random()
            if coin < chance:
                accepted = child
                break
            if mistake == "after a refusal the token is only excluded":
                target[token] = 0
            elif mistake != "after a refusal the target is as before":
                target = numpy.maximum(target - made_from, 0)
            total = target.sum()
            # Nothing is left: this happens with probability 0, or by a mistake.
            target = target / total if total > 0 else p[node].copy()
        if accepted is None:
            return [*tokens, _draw(random, target)]
        tokens.append(int(tree.tokens[accepted]))
        node = accepted


MISTAKES = ("the token after the path is drawn at temperature 1",
            "a token drawn again is not judged again",
            "draws are judged by the drafter's whole distribution",
            "every draw is accepted",
            "one coin for all draws at a node",
            "after a refusal the token is only excluded",
            "after a refusal the target is as before")
