"""Is transformers' speculative sampling exact? Judges the function of its package.

    pip install transformers==5.23.0 torch
    python examples/referee/of_transformers.py
"""

import sys

import banyan.referee
import torch
from transformers.generation.utils import _speculative_sampling


def speculative_sampling(p, q, draws, tree):
    """A chain, as assisted generation hands it over: processed logits."""
    drafted = len(draws)
    ids = torch.tensor([[*tree.text, *tree.tokens[1:].tolist()]])
    valid, _ = _speculative_sampling(
        ids, torch.from_numpy(q[:drafted]).log()[None], drafted,
        torch.from_numpy(p).log()[None])
    return valid[0].tolist()


if __name__ == "__main__":
    verdict = banyan.referee.exact_of(speculative_sampling, trees="chains")
    print(verdict)
    sys.exit(not verdict.exact)
