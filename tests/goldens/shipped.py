#!/usr/bin/env python3
"""Writes tests/goldens/shipped: what PyTorch makes of the models in models/.

  build/training-python/bin/python tests/goldens/shipped.py

`scripts/train --setup` makes that Python. Each NAME.safetensors holds, computed
in float32 from the stored weights,

  ids.P      I64 [n]              a prompt, for P = 0, 1, 2
  logits.P   F32 [shown, vocab]   of a model, after its last tokens
                     of look-ahead vectors those of a chain after its last
  heads.P    F32 [heads, vocab]   of Medusa heads, after its last token
  drafts.P   I64 [steps]          what an EAGLE head drafts after it, each time
                                  the likeliest token, where the target has
                                  read all of it but the last token
  steps.P    F32 [steps, kept]    its logits of them, of the tokens it can draft

The PyTorch model itself is held against transformers by tests/training.
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)  # not this folder, which has a tokenizers.py

from training.eagle_head import output_of, read_head, unroll  # noqa: E402
from training.lookahead import read_vectors, read_with_chains  # noqa: E402
from training.medusa import read_heads  # noqa: E402
from training.model import read_model  # noqa: E402
from training.tokenizer import read_tokenizer  # noqa: E402

SHOWN = 2
STEPS = 5
PROMPTS = (
    "def fibonacci(n):\n    ",
    "class Stack:\n    def __init__(self):\n        self._items = []\n\n"
    "    def push(self, item):\n        self._items.append(item)\n\n"
    "    def pop(self):\n        if not self._items:\n"
    "            raise IndexError('pop from an empty stack')\n",
    "import unittest\n\nclass RangeTest(unittest.TestCase):\n"
    "    def test_empty(self):\n        self.assertEqual(list(range(0)), [])\n",
)


def drafted(head, target, ids):
    """The likeliest tokens and all logits, step by step."""
    streams = target.streams(ids[None, :-1])
    read = head.read(streams, target.norm(streams[-1]))
    tokens, rows = [], []
    for step in range(STEPS):
        text = torch.cat((ids, torch.tensor(tokens, dtype=torch.int64)))
        *_, (_, logits) = unroll(head, target.embed_tokens(text[None]), read,
                                 output_of(target), step + 1, len(ids) - 1)
        rows.append(logits[0, -1])
        tokens.append(int(head.whole(rows[-1]).argmax()))
    return torch.tensor(tokens), torch.stack(rows)


@torch.no_grad()
def main():
    models = ROOT / "models"
    out = ROOT / "tests" / "goldens" / "shipped"
    out.mkdir(exist_ok=True)
    target = read_model(models / "pycode-target")
    heads = read_heads(models / "pycode-medusa")
    for name in ("pycode-target", "pycode-draft-1", "pycode-draft-2",
                 "pycode-medusa", "pycode-eagle1", "pycode-eagle3",
                 "pycode-lookahead", "pycode-other"):
        tensors = {}
        own = name == "pycode-other"
        tokenizer = read_tokenizer(models / (name if own else "pycode-target"))
        for number, prompt in enumerate(PROMPTS):
            ids = torch.tensor(tokenizer.encode(prompt).ids)
            tensors[f"ids.{number}"] = ids
            if name == "pycode-medusa":
                hidden, _ = target.hidden(ids[None])
                laws = heads(hidden[0, -1], target.embed_tokens.weight)
                tensors[f"heads.{number}"] = torch.stack(laws).contiguous()
            elif name == "pycode-lookahead":
                vectors = read_vectors(models / name, target)
                _, chain = read_with_chains(target, ids[None], vectors,
                                            torch.tensor([len(ids) - 1]))
                tensors[f"logits.{number}"] = target.logits(chain[0, 0])
            elif name.startswith("pycode-eagle"):
                head = read_head(models / name, target)
                tokens, logits = drafted(head, target, ids)
                tensors[f"drafts.{number}"] = tokens
                tensors[f"steps.{number}"] = logits
            else:
                model = read_model(models / name)
                logits = model(ids[None])[0, -SHOWN:]
                tensors[f"logits.{number}"] = logits.contiguous()
        save_file(tensors, out / f"{name}.safetensors")
        print(out / f"{name}.safetensors")


if __name__ == "__main__":
    main()
