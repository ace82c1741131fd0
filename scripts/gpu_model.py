#!/usr/bin/env python3
"""Estimates what a pass costs on a GPU: of one token for five designs of the kernels,
of more for the kernels as they are.

  scripts/gpu_model.py [--card h200|h100] [--probe FILE] [CONFIG.json ...]

  --card     whose constants stand in for what was not measured (default h200)
  --probe    a table that `check probe` printed: its rates and times replace the
             card's
  CONFIG.json   shapes of models; without any, SmolLM2-135M and the 1.1B and 7B
             models of `banyan grow`, with bf16 weights

The designs, in ms a token:

  ideal      the weights are read, and nothing else takes time
  graph      six kernels a layer in a graph, each set up early, as others measured
  vm         a persistent kernel that interprets instructions, likewise
  barriers   a persistent kernel with six barriers of all blocks a layer
  letters    a persistent kernel whose blocks post 64-bit words, five hops a layer:
             the faster and the slower estimate
  launches   six kernels a layer that keep 25 to 50 KB a multiprocessor under way:
             likewise

A design is as slow as the slower of the memory and of its chain of dependent steps.
With more tokens (`launches` only) every block of a product reads their activations
from the second-level cache again.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys


@dataclasses.dataclass
class Card:
    """Times in us, rates in bytes a us. Pairs are the good and the bad end."""
    bandwidth: float
    multiprocessors: int
    graph_kernel: float  # each of a graph, beyond what reading takes
    vm_layer: float
    hop: tuple = (.45, .75)      # of a letter, from one multiprocessor to all
    hop_work: float = .65        # what a step does besides
    barrier: float = 1.4         # of all blocks
    after_barrier: float = .6    # the first bytes of what was not asked for ahead
    drain: float = .5            # the last ones before it
    use: float = 70 * 1580       # weights from shared memory, of a multiprocessor
    launch: tuple = (7, 9)
    excess: tuple = (1.03, 1.08)  # of reading over the bandwidth
    small_kernel: tuple = (2.95, 3.75)  # a launch and its dependent trips
    cache: tuple = (6e6, 5e6)  # of the second level, to all multiprocessors


CARDS = {"h200": Card(4.46e6, 132, 2.4, 12.9),
         "h100": Card(3.0e6, 132, 1.56, 9.4)}
KERNELS_A_LAYER = 6
KERNELS_BESIDE = 3  # embedding, last norm and head
BARRIERS_A_LAYER = 6
HOPS_A_LAYER = 5
TOKENS = (1, 8, 16, 64, 128)
# Of core/ops/cuda/kernels/linear_cuda.cu: rows and columns of a weight's tile, and how
# many tiles and tokens a block takes.
TILE = 16
TILES_A_BLOCK = (1, 2, 4)
TOKENS_A_BLOCK = 64
FEW = 16  # tokens; the activations of more are packed, by a launch a product


@dataclasses.dataclass
class Shape:
    name: str
    layers: int
    layer_bytes: int
    head_bytes: int
    products: tuple  # rows and columns of a layer's weights

    @property
    def bytes(self):
        return self.layers * self.layer_bytes + self.head_bytes

    @staticmethod
    def of(name, hidden, layers, heads, kv_heads, head_dim, feed_forward, vocab):
        products = ((head_dim * (heads + 2 * kv_heads), hidden),
                    (hidden, heads * head_dim), (2 * feed_forward, hidden),
                    (hidden, feed_forward))
        numbers = sum(rows * columns for rows, columns in products)
        return Shape(name, layers, 2 * numbers, 2 * hidden * vocab, products)

    @staticmethod
    def read(path):
        config = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        try:
            hidden, heads = config["hidden_size"], config["num_attention_heads"]
            return Shape.of(str(path), hidden, config["num_hidden_layers"], heads,
                            config.get("num_key_value_heads") or heads,
                            config.get("head_dim") or hidden // heads,
                            config["intermediate_size"], config["vocab_size"])
        except KeyError as missing:
            sys.exit(f"gpu_model.py: {path}: no {missing}")


SHAPES = (Shape.of("SmolLM2-135M", 576, 30, 9, 3, 64, 1536, 49152),
          Shape.of("1.1B", 2048, 22, 32, 4, 64, 5632, 2048),
          Shape.of("7B", 4096, 32, 32, 32, 128, 11008, 2048))

# Of the probe's table: a pattern, and what it says of the card.
FOUND = (
    (r"memory by .*: (\d+) GB/s", "bandwidth", lambda all: max(all) * 1e3),
    (r"letters, +1024 to all, one warp first: ([\d.]+) us a round$", "hop",
     lambda all: all[0]),
    (r"letters, +1024 to all, one warp first: ([\d.]+) us a round, beside", "loaded",
     lambda all: all[0]),
    (r"barrier of all blocks: ([\d.]+) us", "barrier", lambda all: all[0]),
    (r"a cooperative launch, .*: ([\d.]+) us", "launch", lambda all: all[0]),
    (r", (\d+) multiprocessors", "multiprocessors", lambda all: int(all[0])),
)


def measured(card, text):
    """The card with what the probe's table says in place of its constants."""
    values = {}
    for pattern, name, pick in FOUND:
        numbers = [float(found) for found in re.findall(pattern, text, re.MULTILINE)]
        if numbers:
            values[name] = pick(numbers)
    if "hop" in values:
        bare, loaded = values["hop"], values.pop("loaded", values["hop"])
        values["hop"] = (bare, max(bare, loaded))
    values.pop("loaded", None)
    if "launch" in values:
        values["launch"] = (values["launch"], values["launch"])
    if not values:
        sys.exit("gpu_model.py: the table of --probe has no line of the probe's")
    return dataclasses.replace(card, **values)


def estimates(shape, card):
    """By design the ms of a token: one number, or the good and the bad end."""
    stream = shape.bytes / card.bandwidth
    head = shape.head_bytes / card.bandwidth
    kernels = KERNELS_A_LAYER * shape.layers + KERNELS_BESIDE
    use = shape.layer_bytes / card.multiprocessors / card.use
    barrier = card.barrier + card.after_barrier + card.drain

    def letters(end):
        chain = shape.layers * (
            HOPS_A_LAYER * (card.hop[end] + card.hop_work) + use) + head
        return max(chain, stream * card.excess[end]) + card.launch[end]

    return {"ideal": stream / 1e3,
            "graph": (stream + kernels * card.graph_kernel) / 1e3,
            "vm": (stream + shape.layers * card.vm_layer) / 1e3,
            "barriers": (stream + shape.layers * BARRIERS_A_LAYER * barrier) / 1e3,
            "letters": (letters(0) / 1e3, letters(1) / 1e3),
            "launches": by_tokens(shape, card, 1)}


def read_by_products(shape, card, tokens):
    """Bytes of a layer: of the weights, and of the activations for every block."""
    row = min(tokens, TOKENS_A_BLOCK) * (4 if tokens <= FEW else 2)
    total = 0
    for rows, columns in shape.products:
        def blocks(tiles, rows=rows):
            return -(-rows // (tiles * TILE)) * -(-tokens // TOKENS_A_BLOCK)

        def busiest(tiles, blocks=blocks):
            return (-(-blocks(tiles) // card.multiprocessors) *
                    (2 * tiles * TILE + row))

        tiles = min(TILES_A_BLOCK, key=busiest)
        total += blocks(tiles) * (2 * tiles * TILE + row) * columns
    return total


def by_tokens(shape, card, tokens):
    """The good and the bad end of the ms of a pass over that many tokens."""
    read = shape.layers * read_by_products(shape, card, tokens) + shape.head_bytes
    a_layer = KERNELS_A_LAYER + (0 if tokens <= FEW else len(shape.products))
    kernels = a_layer * shape.layers + KERNELS_BESIDE
    return tuple(
        (max(shape.bytes / card.bandwidth * (1, 1.05)[end], read / card.cache[end]) +
         kernels * card.small_kernel[end]) / 1e3 for end in (0, 1))


def shown(value):
    return (f"{value:.3f}" if isinstance(value, float)
            else f"{value[0]:.2f}-{value[1]:.2f}")


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS)
    parser.add_argument("--card", choices=CARDS, default="h200",
                        help=argparse.SUPPRESS)
    parser.add_argument("--probe", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("configs", nargs="*", metavar="CONFIG.json",
                        help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    card = CARDS[options.card]
    try:
        if options.probe:
            card = measured(card, pathlib.Path(options.probe).read_text(
                encoding="utf-8"))
        shapes = [Shape.read(path) for path in options.configs] or SHAPES
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"gpu_model.py: {error}")
    print(f"{card.bandwidth / 1e6:.2f} TB/s, ms a token:")
    width = max(len(shape.name) for shape in shapes)
    names = list(estimates(shapes[0], card))
    print(" " * width, *(f"{name:>11}" for name in names))
    for shape in shapes:
        values = estimates(shape, card)
        print(f"{shape.name:{width}}", *(f"{shown(values[name]):>11}"
                                         for name in names))
    print("launches, by tokens of a pass:")
    print(" " * width, *(f"{tokens:>11}" for tokens in TOKENS))
    for shape in shapes:
        print(f"{shape.name:{width}}",
              *(f"{shown(by_tokens(shape, card, tokens)):>11}" for tokens in TOKENS))


if __name__ == "__main__":
    main(sys.argv[1:])
