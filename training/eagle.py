"""eagle: trains a drafter of one layer that reads a frozen target's hidden
states.

Pair i is the token at i + 1 and the target's hidden state at token i. From pair
i and the pairs before it the head gives the distribution of the token at i + 2.
While drafting, the head's own output replaces the hidden states that the target
has not computed yet.

Version 1 (EAGLE) reads the state after the target's final norm. Its output is a
guess of the next such state, and the target's own output matrix makes logits of
the guess. Version 3 (EAGLE-3) reads the states after three layers (`--taps`)
and has an output matrix of its own, for the `--draft-vocab` most frequent
tokens of the training text.

Training takes the steps that drafting takes (`--unroll`). In step s each place
of the text reads the output of step s - 1, and attends to the true pairs up to
the one where its drafting began and to its own steps since. It learns the
distribution that the target has there after reading the true tokens. The loss
of a step is the sum of

- `--features` times SmoothL1 to the true state,
- `--laws` times cross-entropy with the target distribution,
- `--total-variation` times the share of drafts that would be rejected.

Each step weighs `--decay` of the step before. Version 3 learns the target
distribution over the draft vocabulary alone.
"""

import dataclasses

import numpy
import torch
from torch.nn import functional

from training import data, optimizers, states, trainer
from training.data import end_of_text_id, generator_of, read_ids
from training.eagle_head import (FirstHead, ThirdHead, check_taps, initialise,
                                 output_of, unroll, usual_taps, write_head)
from training.eagle_layouts import SAFEAI, SPECULATORS
from training.errors import UserError
from training.model import read_model
from training.pretrain import config_beside
from training.tokenizer import read_tokenizer

# What an option is if it is not given, by version.
DEFAULTS = {1: {"unroll": 1, "features": 1.0},
            3: {"unroll": 4, "features": 0.0}}


def add_arguments(parser):
    parser.add_argument("--target", required=True, metavar="DIR")
    parser.add_argument("--corpus", required=True, metavar="DIR")
    parser.add_argument("--version", type=int, choices=(1, 3), default=3,
                        help="default: %(default)s")
    trainer.add_arguments(parser, steps=4000)
    optimizers.add_arguments(parser, rate=5e-3, muon_rate=0.025)
    parser.add_argument("--taps", type=int, nargs=3, metavar="N",
                        help="version 3: numbers of the layers whose output "
                        "is read, from 0 (default: the published ones, or of "
                        "a small target the first, a middle and the last)")
    parser.add_argument("--draft-vocab", type=int, metavar="N",
                        help="version 3: tokens that can be drafted "
                        "(default: all)")
    parser.add_argument("--layout", choices=(SAFEAI, SPECULATORS),
                        help="version 3: whose names the files have, those of "
                        "SafeAILab, SpecForge and SGLang or of vLLM's "
                        f"speculators (default: {SAFEAI})")
    parser.add_argument("--feed-forward", type=int, metavar="N",
                        help="inner size of the feed-forward part "
                        "(default: the target's)")
    parser.add_argument("--unroll", type=int, metavar="N",
                        help="drafting steps that are trained" + _usual(
                            "unroll"))
    parser.add_argument("--plain-share", type=float, default=0.4, metavar="X",
                        help="the first share of the steps, in which the "
                        "first drafting step alone is trained, which costs "
                        "less (default: %(default)s)")
    parser.add_argument("--decay", type=float, default=0.8, metavar="X",
                        help="weight of each step's loss by the one's before "
                        "(default: %(default)s)")
    parser.add_argument("--features", type=float, metavar="X",
                        help="weight of SmoothL1 to the true state" + _usual(
                            "features"))
    for name, default, what in (
            ("laws", 0.5, "weight of the cross-entropy with the target distribution"),
            ("total-variation", 2.0, "weight of the total variation distance to it"),
            ("noise", 0.0, "what is read of the target is off by as much at "
             "most, in version 3 times the channel's size")):
        parser.add_argument(f"--{name}", type=float, default=default,
                            metavar="X",
                            help=f"{what} (default: %(default)s)")
    states.add_arguments(parser)
    data.add_arguments(parser, batch=4, window=512)


def _usual(name):
    first, third = (DEFAULTS[version][name] for version in (1, 3))
    return f" (default: {first} in version 1, {third} in version 3)"


def run(options):
    settle(options)
    if trainer.already_done(options):
        return
    teaching = EagleTeaching(options)
    run = trainer.Trainer(
        options, teaching.head,
        optimizers.optimizers_of(inner_names(teaching.head), options),
        teaching.columns)
    figures = run.train(teaching.loss)
    write_head(teaching.finished(), teaching.target, options.out,
               layout=options.layout or SAFEAI)
    run.finish("eagle", {
        **figures,
        "parameters": size_of(teaching.head),
        "tokens": options.steps * options.batch * options.window})


def settle(options):
    """Gives options that were not given what is usual for the version."""
    for name, value in DEFAULTS[options.version].items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if not 1 <= options.unroll < options.window:
        raise UserError(f"--unroll: expected a step or more, and fewer than "
                        f"--window {options.window}, found {options.unroll}")
    if options.version == 1:
        for name in ("taps", "draft_vocab", "layout"):
            if getattr(options, name) is not None:
                raise UserError(f"--{name.replace('_', '-')}: a head of "
                                "version 1 has none")


def inner_names(head):
    """The parameters, those of the layer and of fc as inside layers."""
    for name, weight in head.named_parameters():
        inside = name.startswith(("fc", "midlayer"))
        yield f"layers.{name}" if inside else name, weight


class EagleTeaching:
    def __init__(self, options):
        self.options = options
        self.device = trainer.device_of(options)
        self.target = read_model(options.target, self.device).eval()
        self.target.requires_grad_(False)
        config = config_beside(options.target)
        end = end_of_text_id(read_tokenizer(options.target), config)
        ids = read_ids(options.corpus, "train", options.target, end)
        self.head = new_head(options, self.target, ids).to(self.device)
        if options.states:
            self.states = states.States(self.target, ids, end, self.head.taps,
                                        options, self.device)
        else:
            self.batches = data.Batches(ids, options, self.target.shape.context)
        self.spread = self._spread()
        self.columns = [f"overlap{i + 1}" for i in range(options.unroll)]
        self.distances = distances
        if options.compile:
            for layer in self.target.layers:
                layer.compile()
            # One code for each step and each length of windows.
            torch._dynamo.config.recompile_limit = 4 * options.unroll + 4
            self.head.step = torch.compile(self.head.step, dynamic=False)
            self.distances = torch.compile(distances, dynamic=False)
        print(f"target {self.target.size():,}, head {size_of(self.head):,} "
              f"parameters; {len(ids):,} training tokens")

    @torch.no_grad()
    def _spread(self):
        """How large what version 3 reads is, by channel: some are a hundred
        times as large as others, and fc learns better when all are alike."""
        if self.options.version == 1:
            return 1.0
        _, streams, _ = self._read(0)
        read = self.head.read(streams, None).float()
        return read.square().mean((0, 1)).sqrt().clamp(min=1e-6)

    @torch.no_grad()
    def _read(self, step):
        """The ids of a step; the target's streams by layer; its last state."""
        if self.options.states:
            ids, streams, hidden = self.states.batch(step)
            return ids[:, :-1], streams, hidden
        ids = self.batches.batch(step)[:, :-1].to(self.device)
        streams = self.target.streams(ids)
        return ids, streams, self.target.norm(streams[-1])

    @torch.no_grad()
    def finished(self):
        """The head, which reads the target as it is."""
        if self.options.version == 3:
            self.head.fc.weight /= self.spread
        return self.head

    def loss(self, step):
        options = self.options
        with trainer.autocast(options, self.device):
            ids, streams, hidden = self._read(step)
            with torch.no_grad():
                target = torch.softmax(
                    self.target.logits(hidden, self.head.kept).float(), dim=-1)
                read = self.head.read(streams, hidden) / self.spread
                read = self._noisy(read, step)
            drafts = unroll(self.head, self.target.embed_tokens(ids), read,
                            output_of(self.target), self._steps(step),
                            ids.shape[1] - options.unroll)
            total, figures = 0, {}
            for i, (state, logits) in enumerate(drafts):
                # From place t step i speaks of what the target does at
                # t + i + 1.
                there = slice(i + 1, i + 1 + state.shape[1])
                loss, overlap = self._loss(state, logits, hidden[:, there],
                                           target[:, there])
                total = total + options.decay ** i * loss
                figures[f"overlap{i + 1}"] = overlap.detach()
        return total, figures

    def _steps(self, step):
        plain = step < self.options.plain_share * self.options.steps
        return 1 if plain else self.options.unroll

    def _loss(self, state, logits, true_state, law):
        options = self.options
        entropy, overlap = (x.mean() for x in self.distances(law, logits))
        loss = (options.laws * entropy +
                options.total_variation * (1 - overlap))
        if options.features:
            loss = loss + options.features * functional.smooth_l1_loss(
                state.float(), true_state.float())
        return loss, overlap

    def _noisy(self, read, step):
        if not self.options.noise:
            return read
        generator = generator_of(self.options.seed, "noise", step)
        noise = torch.rand(read.shape, generator=generator) * 2 - 1
        return read + self.options.noise * noise.to(read)


def new_head(options, target, ids):
    """A head to start from; `ids`: the training text."""
    shape = dataclasses.replace(
        target.shape, layers=1, family="llama", window=None, wide=(),
        qkv_bias=False, output_bias=False, mlp_bias=False,
        feed_forward=options.feed_forward or target.shape.feed_forward)
    if options.version == 1:
        head = FirstHead(shape)
    else:
        taps = options.taps or usual_taps(target.shape.layers)
        check_taps(taps, target.shape.layers, "--taps")
        count = options.draft_vocab
        if count is None:
            count = shape.vocab_size
        if not 1 <= count <= shape.vocab_size:
            raise UserError(f"--draft-vocab: {count} tokens of the target's "
                            f"{shape.vocab_size}")
        head = ThirdHead(shape, taps,
                         kept_tokens(ids, count, shape.vocab_size))
    initialise(head, target, generator_of(options.seed, "weights"))
    return head


def size_of(head):
    return sum(weight.numel() for weight in head.parameters())


def kept_tokens(ids, count, vocabulary):
    """The `count` most frequent ids, ascending."""
    counts = numpy.bincount(ids, minlength=vocabulary)
    order = numpy.argsort(-counts, kind="stable")[:count]
    return torch.from_numpy(numpy.sort(order))


def distances(target, logits):
    """By place: the cross-entropy of q with the target's distribution over the
    draft vocabulary, and their overlap, sum(min(p, q))."""
    told = functional.log_softmax(logits.float(), dim=-1)
    return -(target * told).sum(-1), torch.minimum(target, told.exp()).sum(-1)
