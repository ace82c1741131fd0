#!/usr/bin/env python3
"""Writes or checks tests/goldens/eagle: a tiny random target, drafting heads of
every layout that read its hidden states, and what PyTorch makes of them.

  build/training-python/bin/python tests/goldens/eagle.py [--check] [FOLDER]

`scripts/train --setup` makes that Python; torch and safetensors are all it
needs. --check computes from the weights that are stored, writes nothing, and
says what is not as computed.

target/ is a Llama of 9 layers, without a tokenizer. Each other folder holds a
head as its layout stores it, config.json and model.safetensors, and
expected.safetensors. A head reads pairs: pair i is (token i + 1, features of
the target at token i), at position i, and its logits are of token i + 2. What
it feeds back stands for the target's features at token i + 1.

The text that is committed, n tokens, and all its pairs. Its last token is the
root of the tree; the root's pair is the last whose features are the target's:

  ids             I64 [n]
  taps            I64 [t]  number of layers after which features are taken (0:
                  the embedding), before the final norm; -1: after it
  features*       [n-1, t, target's width]  the target's, at tokens 0 to n-2
  hidden*         [n-1, head's width]  what every pair feeds back
  logits*         [n-1, head's vocabulary]
  logits_target*  [n-1, target's vocabulary]  the same by the target's ids,
                  minus infinity where the head has no such token

A tree of m nodes below the root. The pair of a node is (its token, what its
parent's pair feeds back), one position after its parent's. It attends to all
pairs of the text, to those of its own ancestors in the tree, and to itself:

  tree_tokens     I64 [m]  the target's ids
  tree_parents    I64 [m]  nodes of this tree; -1: the root
  tree_hidden*, tree_logits*, tree_logits_target*  [m, ...]

The round ends with a = 0, 1 or 2 tokens of a path accepted and one token more.
The head then reads the whole text afresh, the target's features everywhere:

  path            I64 [2]  the nodes that are accepted
  after{a}_ids    I64 [n+a+1]
  after{a}_features*  [a+1, t, target's width]  at tokens n-1 to n-1+a
  after{a}_hidden*, after{a}_logits*  of its last pair, n-1+a

* is 32 and 64: computed in float32 and in float64, both from the stored
weights. Every node of the tree is computed alone, as the end of a text; that a
tree in passes of one level comes out the same is then checked.

The heads are made so that a mistake shows, and that it does is checked, too:
every norm left out, every bias, orders swapped, taps moved, ids for offsets and
so on are computed, one at a time, and must move a logit by VISIBLE.
"""

import argparse
import contextlib
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

from eagle_heads import HEADS, make, text_of
from eagle_mistakes import TOLERANCE, apart, prove
from eagle_oracle import read_head, read_target
from eagle_rounds import (PARENTS, PATH, accepted_text, after, all_float64,
                          round_of)


def expected(root, name):
    """(expected.safetensors, the head in float64)"""
    ids = text_of(name)
    head32, head64 = (
        read_head(root / name, read_target(root / "target", dtype), dtype)
        for dtype in (torch.float32, torch.float64))
    with all_float64():
        tokens, _ = round_of(head64, ids)
        texts = [accepted_text(head64.target, ids, tokens, a)
                 for a in range(len(PATH) + 1)]
    tensors = dict(ids=ids, taps=torch.tensor(head64.rules.taps),
                   tree_tokens=tokens, tree_parents=torch.tensor(PARENTS),
                   path=torch.tensor(PATH))
    for a, text in enumerate(texts):
        tensors[f"after{a}_ids"] = text
    for head, digits in ((head32, "32"), (head64, "64")):
        with all_float64() if digits == "64" else contextlib.nullcontext():
            _, found = round_of(head, ids, tokens)
            for a, text in enumerate(texts):
                found.update({f"after{a}_{key}": value
                              for key, value in after(head, text).items()})
        for key, value in found.items():
            tensors[key + digits] = value.contiguous()
    return tensors, head64


def prove_target():
    """The target computed here against transformers' (checkpoints.py)."""
    folder = pathlib.Path(__file__).resolve().parent / "checkpoints" / "llama"
    golden = load_file(folder / "logits.safetensors")
    target = read_target(folder, torch.float64)
    with all_float64():
        logits = target.logits(golden["ids"])
    off = apart(logits, golden["logits64"])
    assert off < 1e-10, off
    print(f"the Llama here is transformers', off by {off:.1e}")


def differing(tensors, stored):
    """The names that are not as computed."""
    for name in sorted({*tensors, *stored}):
        one, other = tensors.get(name), stored.get(name)
        if (one is None or other is None or one.dtype != other.dtype or
                one.shape != other.shape):
            yield name
        elif not one.is_floating_point():
            if not torch.equal(one, other):
                yield name
        elif apart(one, other) > (1e-10 if name.endswith("64") else TOLERANCE):
            yield name


def main(arguments):
    parser = argparse.ArgumentParser(
        description="Writes or checks tests/goldens/eagle.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent /
                        "eagle")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    prove_target()
    if not options.check:
        make(options.folder)
    wrong = []
    for name in HEADS:
        tensors, head = expected(options.folder, name)
        prove(name, head, tensors)
        path = options.folder / name / "expected.safetensors"
        if not options.check:
            save_file(tensors, path)
        else:
            wrong += [f"{name}: {key}"
                      for key in differing(tensors, load_file(path))]
    size = sum(f.stat().st_size for f in options.folder.rglob("*.*")
               if f.is_file())
    print("\n".join(["differ:", *wrong]) if wrong else
          f"as computed, {size} bytes in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
