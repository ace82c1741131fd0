"""medusa: trains heads on a target, each for a token further ahead.

Head i reads the target's hidden state after the final norm and gives the
distribution of the token i + 2 places on: x + SiLU(W x + b) once or more, then
an output matrix of its own or, with `--share-output`, the target's. It learns
the distribution that the target itself has there. Tensors are named as
published: `i.j.linear.weight`, `i.j.linear.bias`, and `i.L.weight` for the
output matrix.

The target is frozen, except with `--train-target` (Medusa-2): then it is
trained along with the heads, on the text itself, and becomes another model,
`target` beside the heads. The heads belong to that model, and their savings may
be counted against that model only. With `--own-share` the text is written by
the original target. Combined, these two options give the four ways of blockwise
parallel decoding. Its heads learn the text's tokens (`--learn text`), through
the target's output matrix (`--share-output`), with equal weights (`--decay 1`):

    regular        --learn text --share-output --decay 1
    distillation   ... --own-share 1 --temperature 0
    fine tuning    ... --train-target --target-share 1 --target-loss 1
    both           both

Differences from the paper:

- It wrote its texts by beam search, with a model from another seed.
- For want of memory it took one of the losses at random in each step. Here each
  step takes the mean of the losses, times their number.
- It transforms the last state for the next token too. Here the next token comes
  from the target unchanged.
"""

import copy
import pathlib

import torch
from torch import nn
from torch.nn import functional

from training import data, optimizers, sampling, states, trainer, vocabulary
from training.data import end_of_text_id, read_ids
from training.divergences import forward_kl
from training.errors import UserError
from training.files import write_json
from training.model import (read_model, read_tensors, write_model,
                            write_tensors)
from training.pretrain import config_beside, copy_tokenizer, cross_entropy
from training.tokenizer import read_tokenizer


def add_arguments(parser):
    parser.add_argument("--target", required=True, metavar="DIR")
    parser.add_argument("--corpus", required=True, metavar="DIR")
    trainer.add_arguments(parser, steps=2000)
    optimizers.add_arguments(parser, rate=3e-3, muon_rate=0.01)
    parser.add_argument("--heads", type=int, default=4, metavar="N",
                        help="default: %(default)s")
    parser.add_argument("--blocks", type=int, default=1, metavar="N",
                        help="blocks in a head (default: %(default)s)")
    parser.add_argument("--share-output", action="store_true",
                        help="let heads use the target's output matrix")
    parser.add_argument("--learn", choices=("distribution", "text"),
                        default="distribution",
                        help="what a head predicts: the target's distribution "
                        "there, or the text's token, as blockwise decoding's "
                        "and Medusa's own heads (default: %(default)s)")
    parser.add_argument("--decay", type=float, default=0.8, metavar="X",
                        help="weight of each head's loss by the one's before "
                        "(default: %(default)s)")
    parser.add_argument("--train-target", action="store_true",
                        help="train the target too and write it to "
                        "OUT/target")
    parser.add_argument("--target-share", type=float, default=0.1, metavar="X",
                        help="with --train-target: its rates by the heads' "
                        "(default: %(default)s)")
    parser.add_argument("--target-loss", type=float, default=5.0, metavar="X",
                        help="with --train-target: weight of its own loss, the "
                        "text's cross-entropy (default: %(default)s)")
    sampling.add_arguments(parser, share=0.0, whose="the target, as it came,",
                           temperature=1.0)
    states.add_arguments(parser)
    vocabulary.add_arguments(parser)
    data.add_arguments(parser, batch=8, window=512)


class Head(nn.Module):
    def __init__(self, size, blocks, output):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size)
                                    for _ in range(blocks))
        for linear in self.layers:
            nn.init.zeros_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.own = nn.Parameter(output.clone()) if output is not None else None

    def forward(self, x, shared):
        for linear in self.layers:
            x = x + functional.silu(linear(x))
        return functional.linear(x, shared if self.own is None else self.own)


class Heads(nn.Module):
    def __init__(self, count, size, blocks, output):
        """`output`: where each head's own matrix starts; None to share."""
        super().__init__()
        self.heads = nn.ModuleList(Head(size, blocks, output)
                                   for _ in range(count))

    def forward(self, hidden, shared):
        return [head(hidden, shared) for head in self.heads]

    def published(self):
        """The tensors by their published names."""
        tensors = {}
        for i, head in enumerate(self.heads):
            for j, linear in enumerate(head.layers):
                tensors[f"{i}.{j}.linear.weight"] = linear.weight
                tensors[f"{i}.{j}.linear.bias"] = linear.bias
            if head.own is not None:
                tensors[f"{i}.{len(head.layers)}.weight"] = head.own
        return tensors


def describe_heads(tensors, source):
    """How many heads, blocks in each, and how wide, told by the tensors."""
    try:
        heads = 1 + max(int(name.split(".")[0]) for name in tensors)
        blocks = sum(name.startswith("0.") and name.endswith(".linear.weight")
                     for name in tensors)
        size = tensors["0.0.linear.weight"].shape[0]
    except (KeyError, ValueError, IndexError) as error:
        raise UserError(f"{source}: not Medusa heads: no tensor "
                        "'0.0.linear.weight', or others beside them") from error
    wanted = {}
    for i in range(heads):
        for j in range(blocks):
            wanted[f"{i}.{j}.linear.weight"] = [size, size]
            wanted[f"{i}.{j}.linear.bias"] = [size]
    outputs = [f"{i}.{blocks}.weight" for i in range(heads)]
    present = [name for name in outputs if name in tensors]
    for name in present:  # all as long as the first
        wanted[name] = [*tensors[present[0]].shape[:1], size]
    for name, shape in wanted.items():
        found = list(tensors[name].shape) if name in tensors else "no tensor"
        if found != shape:
            raise UserError(f"{source}: tensor {name!r}: expected {shape}, "
                            f"found {found}")
    if present and present != outputs:
        raise UserError(f"{source}: some heads have an output matrix of their "
                        f"own, others have not: {', '.join(present)}")
    others = set(tensors) - set(wanted) - set(outputs)
    if others:
        raise UserError(f"{source}: tensor {min(others)!r} is not of Medusa "
                        "heads")
    return heads, blocks, size


def read_heads(directory):
    """Heads as published."""
    tensors = read_tensors(directory)
    count, blocks, size = describe_heads(tensors, directory)
    heads = Heads(count, size, blocks, tensors.get(f"0.{blocks}.weight"))
    for name, parameter in heads.published().items():
        parameter.data = tensors[name].float()
    return heads


def write_heads(heads, directory, target, dtype=torch.bfloat16):
    directory = pathlib.Path(directory)
    blocks = len(heads.heads[0].layers)
    write_tensors(heads.published(), directory / "medusa_lm_head.safetensors",
                  dtype)
    write_json(directory / "config.json", {
        "base_model_name_or_path": pathlib.Path(target).name,
        "medusa_num_heads": len(heads.heads),
        "medusa_num_layers": blocks,
        "hidden_size": heads.heads[0].layers[0].weight.shape[0],
        "torch_dtype": str(dtype).removeprefix("torch."),
    })


def run(options):
    if trainer.already_done(options):
        return
    states.check_fixed_text(options)
    if options.states and options.train_target:
        raise UserError("--states: a target that is trained has no kept states")
    if options.vocabulary and (options.learn == "text" or options.train_target or
                               not options.share_output):
        raise UserError("--vocabulary: needs --share-output and --learn "
                        "distribution, and excludes --train-target")
    teaching = HeadTeaching(options)
    run = trainer.Trainer(options, teaching.module, teaching.optimizers(),
                          teaching.columns)
    figures = run.train(teaching.loss)
    target = options.target
    if options.train_target:
        target = pathlib.Path(options.out) / "target"
        write_model(teaching.target, target, teaching.end)
        copy_tokenizer(options.target, target)
    write_heads(teaching.heads, options.out, target)
    vocabulary.copy_beside(options.vocabulary, options.out)
    run.finish("medusa", {
        **figures,
        "parameters": sum(w.numel() for w in teaching.heads.parameters()),
        "tokens": options.steps * options.batch * options.window})


class HeadTeaching:
    def __init__(self, options):
        self.options = options
        self.device = trainer.device_of(options)
        self.target = read_model(options.target, self.device).eval()
        self.target.requires_grad_(False)
        writer = self.target
        if options.train_target:  # texts do not change with what learns
            writer = copy.deepcopy(self.target)
            self.target.requires_grad_(True)
        self.author = sampling.Author(writer, options, options.texts)
        output = self.output().detach()
        self.heads = Heads(options.heads, self.target.shape.hidden_size,
                           options.blocks,
                           None if options.share_output else output)
        self.heads.to(self.device)
        self.module = self.heads
        self.columns = [f"head{i}" for i in range(options.heads)]
        if options.train_target:
            self.module = nn.ModuleList([self.heads, self.target])
            self.columns.append("last")
        config = config_beside(options.target)
        self.end = end_of_text_id(read_tokenizer(options.target), config)
        ids = read_ids(options.corpus, "train", options.target, self.end)
        if options.states:
            self.states = states.States(self.target, ids, self.end, (), options,
                                        self.device)
        else:
            self.batches = data.Batches(ids, options, self.target.shape.context)
        self.tokens = vocabulary.read(options.vocabulary,
                                      self.target.shape.vocab_size)
        self.divergence = forward_kl
        self.cross_entropy = cross_entropy
        if options.compile:
            for layer in self.target.layers:
                layer.compile()
            self.divergence = torch.compile(forward_kl)
            self.cross_entropy = torch.compile(cross_entropy)

    def optimizers(self):
        options = self.options
        built = optimizers.optimizers_of(self.heads.named_parameters(), options)
        if options.train_target:
            built += optimizers.optimizers_of(self.target.named_parameters(),
                                              options, options.target_share)
        return built

    def output(self):
        return (self.target.lm_head or self.target.embed_tokens).weight

    def loss(self, step):
        training = self.options.train_target
        total, figures = 0, {}
        with trainer.autocast(self.options, self.device):
            ids, hidden = self._read(step)
            shared = self.output()
            found = self.heads(hidden, shared if self.tokens is None else
                               shared[self.tokens])
            losses = (self.law_losses(hidden, found)
                      if self.options.learn == "distribution" else
                      self.text_losses(ids, found))
            if training:
                own = self.cross_entropy(hidden, self.output(), ids[:, 1:])
                total = self.options.target_loss * own
                figures["last"] = own.detach()
        for i, loss in enumerate(losses):
            total = total + self.options.decay ** i * loss
            figures[f"head{i}"] = loss.detach()
        return total, figures

    def _read(self, step):
        """The ids of a step, and the target's last state at all but the last."""
        if self.options.states:
            ids, _, hidden = self.states.batch(step)
            return ids, hidden
        ids = self.author.text(self.batches.batch(step).to(self.device), step)
        with torch.set_grad_enabled(self.options.train_target):
            return ids, self.target.hidden(ids[:, :-1])[0]

    def law_losses(self, hidden, found):
        """At t a head says what the target itself says at t + i + 1."""
        with torch.no_grad():  # heads follow the target, not it them
            wanted = self.target.logits(hidden, self.tokens)
        return [self.divergence(wanted[:, i + 1:], logits[:, :-(i + 1)]).mean()
                for i, logits in enumerate(found)]

    def text_losses(self, ids, found):
        """At t a head says the text's token at t + i + 2."""
        return [functional.cross_entropy(
                    logits[:, :-(i + 1)].flatten(0, 1).float(),
                    ids[:, i + 2:].flatten())
                for i, logits in enumerate(found)]
