"""Token streams and the windows cut from them."""

import hashlib
import pathlib

import numpy
import torch

from training.chats import template_of
from training.corpus import read_split
from training.errors import UserError
from training.files import replaced
from training.tokenizer import read_tokenizer


def end_of_text_id(tokenizer, config=None):
    """The token between documents: the config's, else the usual names."""
    ids = (config or {}).get("eos_token_id")
    if ids is not None:
        return ids[0] if isinstance(ids, list) else ids
    for name in ("<|endoftext|>", "</s>", "<|end_of_text|>", "<|im_end|>"):
        if tokenizer.token_to_id(name) is not None:
            return tokenizer.token_to_id(name)
    raise UserError("the model has no token that ends a text")


def read_ids(corpus, split, tokenizer_directory, end_of_text):
    """A split as one stream of ids, `end_of_text` before each document; kept
    beside the split for the next time."""
    rule = pathlib.Path(tokenizer_directory) / "tokenizer.json"
    tokenizer = read_tokenizer(tokenizer_directory)
    documents = read_split(corpus, split, template_of(tokenizer_directory))
    digest = hashlib.sha256(rule.read_bytes())
    digest.update(f"{end_of_text}".encode())
    for document in documents:  # as the template writes them
        digest.update(document.text.encode())
    kept = pathlib.Path(corpus) / f"{split}-{digest.hexdigest()[:12]}.npy"
    if kept.exists():
        return numpy.load(kept)
    parts = []
    for start in range(0, len(documents), 64):
        texts = [d.text for d in documents[start:start + 64]]
        for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
            parts.append(numpy.array([end_of_text] + encoding.ids,
                                     dtype=numpy.int32))
    ids = numpy.concatenate(parts)
    with replaced(kept) as name:
        with open(name, "wb") as file:
            numpy.save(file, ids)
    return ids


class Windows:
    """Windows of a stream in random order, each once an epoch, the cuts at
    other places in each epoch. The same for the same seed and step."""

    def __init__(self, ids, length, seed):
        if len(ids) < 2 * length + 2:
            raise UserError(f"the corpus has {len(ids):,} tokens, fewer than "
                            f"two windows of {length}")
        self.ids = torch.from_numpy(ids)
        self.length = length
        self.seed = seed
        self.count = (len(ids) - 1 - length) // length
        self.epoch = None

    def batch(self, step, size):
        """[size, length + 1] ids: the inputs, and one more to predict."""
        rows = [self._window(step * size + i) for i in range(size)]
        return torch.stack(rows).long()

    def _window(self, number):
        epoch, place = divmod(number, self.count)
        if epoch != self.epoch:
            generator = generator_of(self.seed, "epoch", epoch)
            self.order = torch.randperm(self.count, generator=generator)
            self.shift = int(torch.randint(self.length, (1,),
                                           generator=generator))
            self.epoch = epoch
        start = int(self.order[place]) * self.length + self.shift
        return self.ids[start:start + self.length + 1]


class Batches:
    """Batches of one size in tokens: windows of `options.window`, and for the
    last `options.long_share` of the steps windows of `longest`."""

    def __init__(self, ids, options, longest):
        self.options = options
        self.short = Windows(ids, options.window, options.seed)
        self.long_from = round(options.steps * (1 - options.long_share))
        if self.long_from < options.steps:
            self.long = Windows(ids, longest, options.seed)

    def batch(self, step):
        options = self.options
        if step < self.long_from:
            return self.short.batch(step, options.batch)
        size = max(1, options.batch * options.window // self.long.length)
        return self.long.batch(step - self.long_from, size)


def add_arguments(parser, batch, window):
    parser.add_argument("--batch", type=int, default=batch, metavar="N",
                        help="windows a step (default: %(default)s)")
    parser.add_argument("--window", type=int, default=window, metavar="N",
                        help="tokens in a window (default: %(default)s)")
    parser.add_argument("--long-share", type=float, default=0.1, metavar="X",
                        help="the last share of the steps, with fewer windows "
                        "as long as the context (default: %(default)s)")


def generator_of(seed, *names):
    """A generator of its own for every purpose."""
    digest = hashlib.sha256(repr((seed,) + names).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little")
                                         >> 1)
