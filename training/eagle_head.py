"""The network of an EAGLE head, version 1 or 3, its drafting, and its files as
published."""

import dataclasses
import pathlib

import torch
from torch import nn
from torch.nn import functional

from training.eagle_layouts import SAFEAI, SPECULATORS, in_layout, layout_of
from training.errors import UserError
from training.files import read_json, write_json
from training.model import (FeedForward, Norm, llama_keys, read_tensors,
                            rope_frequencies, rotate, rotation_of,
                            shape_of_config, write_tensors)

ARCHITECTURES = {1: "LlamaForCausalLM", 3: "LlamaForCausalLMEagle3"}


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
    taps = ()
    kept = None  # it can draft every token

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
        """Returns the guess of the target's last state, the input of logits()."""
        return fed

    def logits(self, state, output):
        return functional.linear(state, output)

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

    def whole(self, logits):
        size = (*logits.shape[:-1], self.shape.vocab_size)
        all_tokens = logits.new_full(size, float("-inf"))
        all_tokens[..., self.kept.to(logits.device)] = logits
        return all_tokens


def initialise(head, target, generator):
    """Sets random weights, but version 3's final norm and output matrix from
    the target's."""
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
    config, tensors = in_own_layout(config, read_tensors(directory), path)
    shape = dataclasses.replace(shape_of_config(config, path), layers=1)
    for name in ("vocab_size", "hidden_size"):
        wanted, found = getattr(target.shape, name), getattr(shape, name)
        if found != wanted:
            raise UserError(f"{path}: {name}: expected the target's {wanted}, "
                            f"found {found}")
    own = tensors.pop("embed_tokens.weight", None)
    if own is not None and not torch.equal(
            own.float(), target.embed_tokens.weight.detach().float()):
        raise UserError(f"{directory}: tensor 'embed_tokens.weight': expected "
                        "the target's, with which a head is measured here")
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


def in_own_layout(config, tensors, source):
    """A head of the speculators as SafeAILab would write it."""
    if layout_of(config, tensors) != SPECULATORS:
        return config, tensors
    return in_layout(SAFEAI, config, tensors, source)


def write_head(head, target, directory, dtype=torch.bfloat16, layout=SAFEAI):
    """`layout`: of version 3."""
    directory = pathlib.Path(directory)
    tensors = dict(head.state_dict())
    if head.version == 1:
        tensors["embed_tokens.weight"] = target.embed_tokens.weight
    else:
        kept = head.kept.cpu()
        tensors["d2t"] = kept - torch.arange(len(kept))
        tensors["t2d"] = torch.zeros(head.shape.vocab_size, dtype=torch.bool)
        tensors["t2d"][kept] = True
    config = config_of(head, dtype)
    if head.version == 3:
        config, tensors = in_layout(layout, config, tensors, directory)
    write_tensors(tensors, directory / "model.safetensors", dtype)
    write_json(directory / "config.json", config)


def config_of(head, dtype):
    config = llama_keys(head.shape, ARCHITECTURES[head.version], dtype)
    if head.version == 1:
        return {**config, "bias": True}
    return {**config, "draft_vocab_size": len(head.kept),
            "eagle_config": {
                "eagle_aux_hidden_state_layer_ids": list(head.taps),
                "use_aux_hidden_state": True}}
