"""A trimmed output vocabulary (`--vocabulary FILE`, FR-Spec, arXiv:2502.14856).

`banyan count --top` writes the file. Target and drafter are compared on its tokens
alone, which is what a drafter with the key `vocabulary` drafts, at a fraction of the
cost of all logits.
"""

import torch

from training.errors import UserError
from training.files import read_json


def add_arguments(parser, does="train on the logits of these tokens only (written "
                  "by banyan count --top); give the drafter the same file as "
                  "`vocabulary`"):
    parser.add_argument("--vocabulary", metavar="FILE", help=does)


def read(path, vocab_size):
    """The ids of the file, ascending, as a tensor; None without a path."""
    if path is None:
        return None
    found = read_json(path)
    tokens = found.get("tokens") or []
    if found.get("vocab_size") != vocab_size:
        raise UserError(f"{path}: vocab_size: expected the target's {vocab_size}, "
                        f"found {found.get('vocab_size')}")
    if len(set(tokens)) < max(1, len(tokens)) or not (
            0 <= min(tokens) <= max(tokens) < vocab_size):
        raise UserError(f"{path}: tokens: expected at least one id, all "
                        f"distinct and below {vocab_size}")
    return torch.tensor(sorted(tokens))
