"""pretrain: a Llama-shaped model from scratch.

With `--exit-scale` one early exit a step is trained beside the last: the state
after some layer, through the final norm and the output matrix, predicts too.
With `--layer-dropout` layers are left out at random, the later the likelier.
Both together let a model draft for itself from its lower layers (LayerSkip).
"""

import pathlib

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from training import data, optimizers, trainer
from training.data import end_of_text_id, generator_of, read_ids
from training.errors import UserError
from training.files import copy_file, read_json
from training.model import Decoder, Shape, read_model, write_model
from training.tokenizer import read_tokenizer


def add_arguments(parser):
    parser.add_argument("--corpus", required=True, metavar="DIR")
    parser.add_argument("--tokenizer", required=True, metavar="DIR",
                        help="what `tokenizer` wrote, or a model whose "
                        "vocabulary this one shares")
    trainer.add_arguments(parser, steps=4000)
    optimizers.add_arguments(parser, rate=3e-3, muon_rate=0.02)
    add_shape(parser)
    parser.add_argument("--embedding-of", metavar="DIR",
                        help="initialise the embedding with the first "
                        "principal components of this model's embedding; the "
                        "vocabularies must match")
    data.add_arguments(parser, batch=16, window=512)
    parser.add_argument("--exit-scale", type=float, default=0.0, metavar="X",
                        help="weight of the early exit's loss "
                        "(default: %(default)s)")
    parser.add_argument("--layer-dropout", type=float, default=0.0,
                        metavar="X", help="chance that the last layer is left "
                        "out of a step; less for earlier ones "
                        "(default: %(default)s)")


def add_shape(parser):
    for name, default, what in (
            ("hidden", 192, "size of the hidden state"),
            ("layers", 4, "number of layers"),
            ("heads", 3, "attention heads"),
            ("kv-heads", 0, "heads of keys and values; 0: as many"),
            ("feed-forward", 512, "inner size of the feed-forward part"),
            ("context", 1024, "most tokens the model can read")):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N",
                            help=f"{what} (default: %(default)s)")


def run(options):
    if trainer.already_done(options):
        return
    device = trainer.device_of(options)
    tokenizer = read_tokenizer(options.tokenizer)
    config = config_beside(options.tokenizer)
    end = end_of_text_id(tokenizer, config)
    ids = read_ids(options.corpus, "train", options.tokenizer, end)
    # A model's matrix may have more rows than its tokenizer has tokens.
    vocab_size = config.get("vocab_size", tokenizer.get_vocab_size())
    model = Decoder(shape_of(options, vocab_size))
    model.initialise(generator_of(options.seed, "weights"))
    if options.embedding_of:
        start_embedding(model, read_model(options.embedding_of))
    model.to(device)
    print(f"{model.size():,} parameters, {len(ids):,} training tokens")
    recipe = Pretraining(options, model, ids, device)
    run = trainer.Trainer(
        options, model,
        optimizers.optimizers_of(model.named_parameters(), options),
        recipe.columns)
    figures = run.train(recipe.loss)
    write_model(model, options.out, end)
    copy_tokenizer(options.tokenizer, options.out)
    run.finish("pretrain", {
        **figures, "parameters": model.size(),
        "tokens": options.steps * options.batch * options.window})


@torch.no_grad()
def start_embedding(model, source):
    """Initialises the embedding by PCA of the source's, which preserves inner
    products between tokens as well as possible."""
    mine, theirs = model.embed_tokens.weight, source.embed_tokens.weight
    if len(mine) != len(theirs):
        raise UserError(f"--embedding-of: a vocabulary of {len(theirs):,} tokens, "
                        f"expected {len(mine):,}")
    if mine.shape[1] > theirs.shape[1]:
        raise UserError(f"--embedding-of: {theirs.shape[1]} components, fewer than "
                        f"--hidden {mine.shape[1]}")
    centred = theirs - theirs.mean(0)
    values, axes = torch.linalg.eigh(centred.T @ centred)  # ascending
    start = centred @ axes[:, -mine.shape[1]:].flip(1)
    mine.copy_(start * (mine.std() / start.std()))


def config_beside(directory):
    """The config.json of a model's directory; empty if there is none."""
    path = pathlib.Path(directory) / "config.json"
    return read_json(path) if path.exists() else {}


def shape_of(options, vocab_size):
    if options.hidden % options.heads:
        raise UserError(f"--heads: {options.heads} does not divide --hidden "
                        f"{options.hidden}")
    if options.hidden // options.heads % 2:
        raise UserError(f"--heads: {options.heads} of --hidden "
                        f"{options.hidden} give heads of odd size "
                        f"{options.hidden // options.heads}, which cannot be "
                        "rotated by halves")
    kv_heads = options.kv_heads or options.heads
    if options.heads % kv_heads:
        raise UserError(f"--kv-heads: {kv_heads} does not divide --heads "
                        f"{options.heads}")
    return Shape(vocab_size=vocab_size, hidden_size=options.hidden,
                 layers=options.layers, heads=options.heads, kv_heads=kv_heads,
                 head_dim=options.hidden // options.heads,
                 feed_forward=options.feed_forward, context=options.context)


class Pretraining:
    def __init__(self, options, model, ids, device):
        self.options = options
        self.model = model
        self.device = device
        self.batches = data.Batches(ids, options, options.context)
        self.cross_entropy = cross_entropy
        self.columns = ("last", "early") if options.exit_scale else ("last",)
        if options.compile:
            for layer in model.layers:
                layer.compile()
            self.cross_entropy = torch.compile(cross_entropy)

    def loss(self, step):
        ids = self.batches.batch(step).to(self.device)
        generator = generator_of(self.options.seed, "layers", step)
        last_layer = self.model.shape.layers
        exits = ()
        if self.options.exit_scale and last_layer > 1:
            exits = (int(torch.randint(1, last_layer, (1,),
                                       generator=generator)),)
        chances = torch.rand(last_layer, generator=generator)
        skipped = [number for number in range(1, last_layer)
                   if chances[number] <
                   self.options.layer_dropout * number / (last_layer - 1)]
        with trainer.autocast(self.options, self.device):
            hidden, early = self.model.hidden(ids[:, :-1], exits, skipped)
            wanted = ids[:, 1:]
            last = self._cross_entropy(hidden, wanted)
            if not exits:
                return last, {"last": last.detach()}
            other = self._cross_entropy(early[exits[0]], wanted)
        loss = last + self.options.exit_scale * other
        return loss, {"last": last.detach(), "early": other.detach()}

    def _cross_entropy(self, hidden, wanted):
        head = (self.model.embed_tokens if self.model.lm_head is None
                else self.model.lm_head)
        return self.cross_entropy(hidden, head.weight, wanted)


LOGITS_AT_ONCE = 1 << 26  # beyond these a batch's logits take gigabytes


def cross_entropy(hidden, head, wanted):
    """The mean over all places. Of a large vocabulary a part of the places at a
    time, whose logits are computed again for the gradient."""
    hidden, wanted = hidden.flatten(0, 1), wanted.flatten()
    places = max(1, LOGITS_AT_ONCE // len(head))
    if len(hidden) <= places:
        return _sum_of_losses(hidden, head, wanted) / len(wanted)
    parts = zip(hidden.split(places), wanted.split(places))
    return sum(checkpoint(_sum_of_losses, part, head, told, use_reentrant=False)
               for part, told in parts) / len(wanted)


def _sum_of_losses(hidden, head, wanted):
    return functional.cross_entropy(functional.linear(hidden, head).float(), wanted,
                                    reduction="sum")


def copy_tokenizer(source, target):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        path = pathlib.Path(source) / name
        if path.exists():
            copy_file(path, pathlib.Path(target) / name)
