"""eagle: a drafter of one layer that reads a frozen target's hidden states.

Pair i is the token at i + 1 and what the target had computed once it had read
up to the token at i; from it and the pairs before it the head gives the law of
the token at i + 2. While drafting, the head's own output takes the place of
what the target has not computed yet.

Version 1 (EAGLE) reads the state after the target's final norm, and its output
is a guess of the next such state: the target's own output matrix makes a law of
it. Version 3 (EAGLE-3) reads the states after three layers (`--taps`) and has
an output matrix of its own, for the `--draft-vocab` tokens that are the most
frequent in the training text.

Training takes the steps that drafting takes (`--unroll`): in step s each place
of the text reads the output of step s - 1, attends to the true pairs up to the
one where its drafting began and to its own steps since, and learns the law
that the target has there once it has read the true tokens. The loss of a step,
`--features` times SmoothL1 to the true state, `--laws` times cross-entropy with
the target's law and `--total-variation` times the share of drafts that would be
refused, weighs `--decay` of the step before.
"""

import dataclasses
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional

from training import data, optimizers, trainer
from training.data import end_of_text_id, generator_of, read_ids
from training.errors import UserError
from training.files import read_json, write_json
from training.model import (FeedForward, Norm, read_model, read_tensors,
                            rope_frequencies, rotate, rotation_of,
                            shape_of_config, write_tensors)
from training.pretrain import config_beside
from training.tokenizer import read_tokenizer

ARCHITECTURES = {1: "LlamaForCausalLM", 3: "LlamaForCausalLMEagle3"}
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
            ("laws", 0.5, "weight of the cross-entropy with the target's law"),
            ("total-variation", 2.0, "weight of the two laws' distance"),
            ("noise", 0.0, "what is read of the target is off by as much at "
             "most, in version 3 times the channel's size")):
        parser.add_argument(f"--{name}", type=float, default=default,
                            metavar="X",
                            help=f"{what} (default: %(default)s)")
    data.add_arguments(parser, batch=4, window=512)


def _usual(name):
    first, third = (DEFAULTS[version][name] for version in (1, 3))
    return f" (default: {first} in version 1, {third} in version 3)"


class Attention(nn.Module):
    """Attention of places that have each drafted some steps of their own."""

    def __init__(self, shape, inputs):
        super().__init__()
        self.head_dim = shape.head_dim
        self.shared = shape.heads // shape.kv_heads
        width = shape.heads * shape.head_dim
        kv_width = shape.kv_heads * shape.head_dim
        self.q_proj = nn.Linear(inputs, width, False)
        self.k_proj = nn.Linear(inputs, kv_width, False)
        self.v_proj = nn.Linear(inputs, kv_width, False)
        self.o_proj = nn.Linear(width, shape.hidden_size, False)

    def forward(self, x, rotation, memory):
        """`memory`: keys and values of the steps before; gets this one's."""
        query, key, value = (
            projection(x).unflatten(-1, (-1, self.head_dim))
            for projection in (self.q_proj, self.k_proj, self.v_proj))
        query, key = rotate(query, rotation), rotate(key, rotation)
        query, key, value = (part.transpose(1, 2)
                             for part in (query, key, value))
        memory.append((key.repeat_interleave(self.shared, 1),
                       value.repeat_interleave(self.shared, 1)))
        mixed = attend(query, *zip(*memory))
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


def attend(query, keys, values):
    """A place sees the first step's places up to itself, and of later steps
    its own."""
    if len(keys) == 1:
        return functional.scaled_dot_product_attention(
            query, keys[0], values[0], is_causal=True)
    length = query.shape[-2]
    query = query * query.shape[-1] ** -0.5
    later = torch.ones(length, length, dtype=torch.bool,
                       device=query.device).triu(1)
    first = (query @ keys[0].transpose(-1, -2)).masked_fill(
        later, float("-inf"))
    own = [(query * key).sum(-1, keepdim=True) for key in keys[1:]]
    shares = torch.softmax(torch.cat((first, *own), dim=-1).float(), dim=-1)
    shares = shares.to(values[0].dtype)
    mixed = shares[..., :length] @ values[0]
    for number, value in enumerate(values[1:]):
        mixed = mixed + shares[..., length + number, None] * value
    return mixed


class FirstLayer(nn.Module):
    """The layer of version 1: a decoder's, less the norm of its input."""

    def __init__(self, shape):
        super().__init__()
        self.self_attn = Attention(shape, shape.hidden_size)
        self.post_attention_layernorm = Norm(shape.hidden_size,
                                             shape.norm_epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x, rotation, memory):
        x = x + self.self_attn(x, rotation, memory)
        return x + self.mlp(self.post_attention_layernorm(x))


class MiddleLayer(nn.Module):
    """The layer of version 3: its attention reads the token beside the
    state."""

    def __init__(self, shape):
        super().__init__()
        size, epsilon = shape.hidden_size, shape.norm_epsilon
        self.self_attn = Attention(shape, 2 * size)
        self.mlp = FeedForward(shape)
        self.input_layernorm = Norm(size, epsilon)
        self.hidden_norm = Norm(size, epsilon)
        self.post_attention_layernorm = Norm(size, epsilon)

    def forward(self, embedded, state, rotation, memory):
        read = torch.cat((self.input_layernorm(embedded),
                          self.hidden_norm(state)), dim=-1)
        x = state + self.self_attn(read, rotation, memory)
        return x + self.mlp(self.post_attention_layernorm(x))


class FirstHead(nn.Module):
    """Version 1. Parameters are named as published."""

    version = 1

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.frequencies = rope_frequencies(shape)
        self.fc = nn.Linear(2 * shape.hidden_size, shape.hidden_size)
        self.layers = nn.ModuleList([FirstLayer(shape)])

    def read(self, _, hidden):
        """What it reads of the target: its streams, its last state."""
        return hidden

    def enter(self, read):
        """What the first step is fed with."""
        return read

    def step(self, embedded, fed, rotation, memory):
        """What the next step is fed with."""
        x = self.fc(torch.cat((embedded, fed), dim=-1))
        return self.layers[0](x, rotation, memory)

    def last(self, fed):
        """Its guess of the target's last state, of which laws are made."""
        return fed

    def logits(self, state, output):
        return functional.linear(state, output)

    def kept_of(self, laws):
        """Of numbers by token those of tokens that it can draft."""
        return laws

    def whole(self, logits):
        """Logits of all tokens."""
        return logits


class ThirdHead(nn.Module):
    """Version 3. `kept`: ids of the tokens it can draft, ascending."""

    version = 3

    def __init__(self, shape, taps, kept):
        super().__init__()
        self.shape = shape
        self.frequencies = rope_frequencies(shape)
        self.taps = tuple(taps)
        self.kept = kept
        size = shape.hidden_size
        self.fc = nn.Linear(3 * size, size, False)
        self.midlayer = MiddleLayer(shape)
        self.norm = Norm(size, shape.norm_epsilon)
        self.lm_head = nn.Linear(size, len(kept), False)

    def read(self, streams, _):
        return torch.cat([streams[tap] for tap in self.taps], dim=-1)

    def enter(self, read):
        return self.fc(read)

    def step(self, embedded, fed, rotation, memory):
        return self.midlayer(embedded, fed, rotation, memory)

    def last(self, fed):
        return self.norm(fed)

    def logits(self, state, _):
        return self.lm_head(state)

    def kept_of(self, laws):
        return laws[..., self.kept.to(laws.device)]

    def whole(self, logits):
        size = (*logits.shape[:-1], self.shape.vocab_size)
        all_tokens = logits.new_full(size, float("-inf"))
        all_tokens[..., self.kept.to(logits.device)] = logits
        return all_tokens


def initialise(head, target, generator):
    """Random weights to start from; what makes laws is the target's."""
    with torch.no_grad():
        for name, weight in head.named_parameters():
            if weight.dim() < 2:
                continue
            deviation = weight.shape[1] ** -0.5
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                deviation /= 2
            weight.copy_(torch.randn(weight.shape, generator=generator) *
                         deviation)
        if head.version == 1:
            head.fc.bias.zero_()
        else:
            # Less sure of itself than the target, while it knows nothing.
            head.norm.weight.copy_(target.norm.weight / 4)
            head.lm_head.weight.copy_(output_of(target)[head.kept])


def output_of(target):
    return (target.lm_head or target.embed_tokens).weight.detach()


def unroll(head, embedded, read, output, steps, places):
    """Drafts `steps` tokens from each of the first `places`, which all have so
    many after them.

    Gives for each step the head's state and logits: step s from place i speaks
    of the token at i + s + 2, having read the true ones before it.
    """
    fed = head.enter(read[:, :places])
    memory = []
    for step in range(steps):
        rotation = rotation_of(head.frequencies, step, places, embedded.device)
        tokens = embedded[:, step + 1:step + 1 + places]
        fed = head.step(tokens, fed, rotation, memory)
        state = head.last(fed)
        yield state, head.logits(state, output)


def read_head(directory, target):
    """A head of either version, as published, for a model."""
    directory = pathlib.Path(directory)
    path = directory / "config.json"
    config = read_json(path)
    shape = dataclasses.replace(shape_of_config(config, path), layers=1)
    for name in ("vocab_size", "hidden_size"):
        wanted, found = getattr(target.shape, name), getattr(shape, name)
        if found != wanted:
            raise UserError(f"{path}: {name}: expected the target's {wanted}, "
                            f"found {found}")
    tensors = read_tensors(directory)
    tensors.pop("embed_tokens.weight", None)  # the target's
    if config.get("architectures") == [ARCHITECTURES[3]]:
        head = _third_head(config, path, shape, tensors, target)
    else:
        head = FirstHead(shape)
    wanted = head.state_dict()
    for name, weight in wanted.items():
        found = list(tensors[name].shape) if name in tensors else "no tensor"
        if found != list(weight.shape):
            raise UserError(f"{directory}: tensor {name!r}: expected "
                            f"{list(weight.shape)}, found {found}")
    others = set(tensors) - set(wanted)
    if others:
        raise UserError(f"{directory}: tensor {min(others)!r} is not of an "
                        f"EAGLE head of version {head.version}")
    head.load_state_dict({name: tensors[name].float() for name in wanted})
    return head.eval()


def _third_head(config, path, shape, tensors, target):
    taps = config.get("eagle_config", {}).get(
        "eagle_aux_hidden_state_layer_ids")
    if taps is None:
        raise UserError(f"{path}: eagle_config: "
                        "eagle_aux_hidden_state_layer_ids: the key is missing")
    check_taps(taps, target.shape.layers, path)
    if "d2t" not in tensors:
        raise UserError(f"{path.parent}: tensor 'd2t' is missing")
    offsets = tensors.pop("d2t")
    tensors.pop("t2d", None)  # the same once more
    kept = offsets + torch.arange(len(offsets))
    if bool((kept < 0).any()) or bool((kept >= shape.vocab_size).any()):
        raise UserError(f"{path.parent}: tensor 'd2t': a token that is none of "
                        f"the target's {shape.vocab_size}")
    return ThirdHead(shape, taps, kept)


def usual_taps(layers):
    """The published ones, where they are three different layers."""
    if layers < 8:
        return [0, layers // 2, layers - 1]
    return [1, layers // 2 - 1, layers - 4]


def check_taps(taps, layers, source):
    if len(set(taps)) != 3 or min(taps) < 0 or max(taps) >= layers:
        raise UserError(f"{source}: expected three of the target's {layers} "
                        f"layers, from 0, found {taps}")


def write_head(head, target, directory, dtype=torch.bfloat16):
    directory = pathlib.Path(directory)
    tensors = dict(head.state_dict())
    if head.version == 1:
        tensors["embed_tokens.weight"] = target.embed_tokens.weight
    else:
        kept = head.kept.cpu()
        tensors["d2t"] = kept - torch.arange(len(kept))
        tensors["t2d"] = torch.zeros(head.shape.vocab_size, dtype=torch.bool)
        tensors["t2d"][kept] = True
    write_tensors(tensors, directory / "model.safetensors", dtype)
    write_json(directory / "config.json", config_of(head, dtype))


def config_of(head, dtype):
    shape = head.shape
    config = {
        "architectures": [ARCHITECTURES[head.version]],
        "model_type": "llama",
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": 1,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.feed_forward,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.norm_epsilon,
        "rope_theta": shape.rope_theta,
        "hidden_act": "silu",
        "torch_dtype": str(dtype).removeprefix("torch."),
    }
    if shape.rope_scaling:
        config["rope_scaling"] = shape.rope_scaling
    if head.version == 1:
        return {**config, "bias": True}
    return {**config, "draft_vocab_size": len(head.kept),
            "eagle_config": {
                "eagle_aux_hidden_state_layer_ids": list(head.taps),
                "use_aux_hidden_state": True}}


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
    write_head(teaching.finished(), teaching.target, options.out)
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
        for name in ("taps", "draft_vocab"):
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
        self.batches = data.Batches(ids, options, self.target.shape.context)
        self.head = new_head(options, self.target, ids).to(self.device)
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
        ids = self.batches.batch(0)[:, :-1].to(self.device)
        read = self.head.read(self.target.streams(ids), None)
        return read.square().mean((0, 1)).sqrt().clamp(min=1e-6)

    @torch.no_grad()
    def finished(self):
        """The head, which reads the target as it is."""
        if self.options.version == 3:
            self.head.fc.weight /= self.spread
        return self.head

    def loss(self, step):
        options = self.options
        ids = self.batches.batch(step)[:, :-1].to(self.device)
        with trainer.autocast(options, self.device):
            with torch.no_grad():
                streams = self.target.streams(ids)
                hidden = self.target.norm(streams[-1])
                law = torch.softmax(self.target.logits(hidden).float(), dim=-1)
                law = self.head.kept_of(law)
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
                                           law[:, there])
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


def distances(law, logits):
    """By place: the cross-entropy of q with the target's law, the part of it
    that is kept made whole; and sum(min(p, q))."""
    told = functional.log_softmax(logits.float(), dim=-1)
    entropy = -(law * told).sum(-1) / law.sum(-1).clamp(min=1e-9)
    return entropy, torch.minimum(law, told.exp()).sum(-1)
