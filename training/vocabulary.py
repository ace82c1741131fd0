"""A trimmed output vocabulary (`--vocabulary FILE`, FR-Spec, arXiv:2502.14856).

`banyan make counts --top` writes the file. Target and drafter are compared on its tokens
alone, at a fraction of the cost of all logits. A copy of it beside the model makes
the drafter draft only these tokens.
"""

import pathlib

import torch

from training.errors import UserError
from training.files import copy_file, read_json

BESIDE = "vocabulary.json"


def add_arguments(parser, does="train on the logits of these tokens only (written "
                  f"by banyan make counts --top); it is copied to {BESIDE} beside the "
                  "model, which then drafts only them"):
    parser.add_argument("--vocabulary", metavar="FILE", help=does)


def copy_beside(path, directory):
    """Copies the file to the folder of a model that was trained on its tokens."""
    if path is not None:
        copy_file(path, pathlib.Path(directory) / BESIDE)


def of_folder(directory):
    """The file in a model's folder; None if there is none."""
    path = pathlib.Path(directory) / BESIDE
    return path if path.exists() else None


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
