"""lookahead: trains vectors that a frozen target reads in place of later tokens
(PaSS, arXiv:2311.13581).

A chain of L vectors follows a place of the text, each in the place of a token.
Vector i, counted from 1, sees the text up to that place and the vectors before
it. It learns the distribution that the target itself has i tokens later, after
reading the true tokens. Only the vectors are trained.

Many chains share a text, which is read once. The chains are read after it, at
the positions of the tokens that they replace. Each chain sees itself and the
text up to its place.
"""

import pathlib

import torch
from torch import nn

from training import data, optimizers, trainer
from training.data import end_of_text_id, generator_of, read_ids
from training.divergences import forward_kl
from training.errors import UserError
from training.files import read_json, write_json
from training.model import read_model, read_tensors, write_tensors
from training.pretrain import config_beside
from training.tokenizer import read_tokenizer

TENSOR = "lookahead.embeddings"


def add_arguments(parser):
    parser.add_argument("--target", required=True, metavar="DIR")
    parser.add_argument("--corpus", required=True, metavar="DIR")
    trainer.add_arguments(parser, steps=400)
    optimizers.add_arguments(parser, rate=0.1, muon_rate=0.0)
    parser.add_argument("--vectors", type=int, default=4, metavar="L",
                        help="in the chain (default: %(default)s)")
    parser.add_argument("--places", type=int, default=16, metavar="N",
                        help="chains in a window (default: %(default)s)")
    parser.add_argument("--decay", type=float, default=0.8, metavar="X",
                        help="weight of each vector's loss by the one's before "
                        "(default: %(default)s)")
    data.add_arguments(parser, batch=8, window=256)


class Vectors(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.rows = nn.Parameter(start.clone())


def read_vectors(directory, target):
    """The trained vectors for `target`, [L, hidden]."""
    path = pathlib.Path(directory) / "config.json"
    config = read_json(path)
    for key in ("hidden_size", "vocab_size"):
        if config.get(key) != getattr(target.shape, key):
            raise UserError(f"{path}: {key}: expected "
                            f"{getattr(target.shape, key)}, as the target has, "
                            f"found {config.get(key)!r}")
    tensors = read_tensors(directory)
    wanted = [config.get("lookahead_vectors"), target.shape.hidden_size]
    found = list(tensors[TENSOR].shape) if TENSOR in tensors else "no tensor"
    if found != wanted:
        raise UserError(f"{directory}: tensor {TENSOR!r}: expected {wanted}, "
                        f"found {found}")
    return tensors[TENSOR].float()


def write_vectors(vectors, directory, target, vocab_size):
    """In f32: they are few."""
    directory = pathlib.Path(directory)
    write_tensors({TENSOR: vectors}, directory / "model.safetensors",
                  torch.float32)
    write_json(directory / "config.json", {
        "base_model_name_or_path": pathlib.Path(target).name,
        "lookahead_vectors": vectors.shape[0],
        "hidden_size": vectors.shape[1],
        "vocab_size": vocab_size,
        "torch_dtype": "float32",
    })


def who_sees_whom(length, places, count):
    """By row of the chains, one after the other, what it sees of the text and
    of them: the text up to its place, and its own chain up to itself."""
    text = (torch.arange(length)[None] <=
            places.repeat_interleave(count)[:, None])
    own = torch.ones(count, count).tril().bool()
    return torch.cat((text, torch.block_diag(*[own] * len(places)).bool()),
                     dim=1)


def read_with_chains(target, ids, vectors, places):
    """Returns the normed hidden states of `ids`, and those of the chains after
    `places`, [batch, places, L, hidden]. All windows have the same places. The
    target is frozen, so the text's states carry no gradients: the chains only
    attend to them."""
    batch, length = ids.shape
    count = vectors.shape[0]
    caches = [{} for _ in target.layers]
    text = target.step(ids, 0, caches)
    links = torch.arange(1, count + 1)
    positions = (places[:, None] + links[None]).flatten().to(ids.device)
    seen_at = torch.cat((torch.arange(length, device=ids.device), positions))
    behind = positions[:, None] - seen_at[None]
    sees = who_sees_whom(length, places, count).to(ids.device)
    angles = torch.outer(positions.float(), target.frequencies.to(ids.device))
    rotation = angles.cos()[None, :, None], angles.sin()[None, :, None]
    x = vectors.repeat(len(places), 1)[None].expand(batch, -1, -1)
    for layer, window, cache in zip(target.layers, target.windows, caches):
        mask = sees if window is None else sees & (behind < window)
        x = layer(x, rotation, mask, cache)
    return text, target.norm(x).unflatten(1, (len(places), count))


def told_at(wanted, places, count):
    """Picks the target's rows i tokens after each place, i from 1: from a row
    for each place, [batch, length, ...], those at [batch, places, L, ...]."""
    links = torch.arange(1, count + 1, device=places.device)
    return wanted[:, places[:, None] + links[None]]


def run(options):
    if trainer.already_done(options):
        return
    teaching = VectorTeaching(options)
    run = trainer.Trainer(options, teaching.vectors, optimizers.optimizers_of(
        teaching.vectors.named_parameters(), options), teaching.columns)
    figures = run.train(teaching.loss)
    write_vectors(teaching.vectors.rows.detach(), options.out, options.target,
                  teaching.target.shape.vocab_size)
    run.finish("lookahead", {
        **figures, "parameters": teaching.vectors.rows.numel(),
        "tokens": options.steps * options.batch * options.window})


class VectorTeaching:
    def __init__(self, options):
        self.options = options
        self.device = trainer.device_of(options)
        self.target = read_model(options.target, self.device).eval()
        self.target.requires_grad_(False)
        if options.window <= options.vectors:
            raise UserError(f"--window {options.window}: no place has "
                            f"{options.vectors} tokens after it")
        # All start as the mean token, of which each learns its own difference.
        mean = self.target.embed_tokens.weight.mean(0)
        self.vectors = Vectors(mean.repeat(options.vectors, 1))
        self.vectors.to(self.device)
        self.columns = [f"head{i}" for i in range(options.vectors)]
        config = config_beside(options.target)
        end = end_of_text_id(read_tokenizer(options.target), config)
        ids = read_ids(options.corpus, "train", options.target, end)
        self.batches = data.Batches(ids, options, self.target.shape.context)
        self.divergence = forward_kl
        if options.compile:
            for layer in self.target.layers:
                layer.compile()
            self.divergence = torch.compile(forward_kl)

    def places(self, step, length):
        """Where chains stand: random, ascending, the same in all windows."""
        generator = generator_of(self.options.seed, "places", step)
        count = min(self.options.places, length - self.options.vectors)
        chosen = torch.randperm(length - self.options.vectors,
                                generator=generator)[:count]
        return chosen.sort().values

    def loss(self, step):
        ids = self.batches.batch(step).to(self.device)[:, :-1]
        places = self.places(step, ids.shape[1])
        count = self.options.vectors
        with trainer.autocast(self.options, self.device):
            hidden, chains = read_with_chains(self.target, ids,
                                              self.vectors.rows, places)
            with torch.no_grad():
                wanted = self.target.logits(
                    told_at(hidden, places.to(self.device), count))
            found = self.target.logits(chains)
        total, figures = 0, {}
        for i in range(count):
            loss = self.divergence(wanted[:, :, i], found[:, :, i]).mean()
            total = total + self.options.decay ** i * loss
            figures[f"head{i}"] = loss.detach()
        return total, figures
