"""A text, a tree below it and what comes after, as eagle.py describes them."""

import contextlib

import torch

from eagle_heads import TOKENS
from eagle_oracle import pass_over, tree_alone
from no_float32 import NoFloat32

# The parent of each node, and the node's rank among its parent's best tokens:
# three below the root, siblings on three levels, one node on the fourth. The
# accepted path is not that of the first nodes.
PARENTS = (-1, -1, -1, 0, 2, 2, 3, 5, 5, 8)
RANKS = (0, 1, 2, 0, 0, 1, 0, 0, 1, 0)
PATH = (2, 5)


def tree_of(head, ids, features, tokens=None):
    """The tree with these tokens, or with the best that parents propose."""
    def choose(node, proposed):
        return proposed[RANKS[node]] if tokens is None else tokens[node]
    return tree_alone(head, ids, features, PARENTS, choose)


def round_of(head, ids, tokens=None):
    """What expected.safetensors holds of the text and the tree."""
    features = head.features(ids)[:-1]
    fed, logits = pass_over(head, ids, features)
    tokens, tree_fed, tree_logits = tree_of(head, ids, features, tokens)
    return tokens, dict(
        features=features, hidden=fed, logits=logits,
        logits_target=head.by_target(logits), tree_hidden=tree_fed,
        tree_logits=tree_logits, tree_logits_target=head.by_target(tree_logits))


def after(head, ids):
    """What it holds of a text that has become longer."""
    features = head.features(ids)[:-1]
    fed, logits = pass_over(head, ids, features)
    return dict(features=features[TOKENS - 1:], hidden=fed[-1],
                logits=logits[-1])


def accepted_text(target, ids, tokens, count):
    """The text, `count` tokens of the path, and what the target says then that
    is not in the tree."""
    ids = torch.cat([ids, tokens[list(PATH[:count])]])
    last = PATH[count - 1] if count else -1
    proposed = [tokens[i] for i, parent in enumerate(PARENTS) if parent == last]
    best = target.logits(ids)[-1].argsort(descending=True)
    return torch.cat([ids, next(x for x in best if x not in proposed)[None]])


@contextlib.contextmanager
def all_float64():
    torch.set_default_dtype(torch.float64)
    try:
        with NoFloat32():
            yield
    finally:
        torch.set_default_dtype(torch.float32)
