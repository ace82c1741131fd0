"""Drafting heads that read a target's hidden states, as eagle.py stores them:
EAGLE-1, EAGLE-3 and MTP in PyTorch, slow and plain.

Everything is computed from whole texts; nothing is kept from one step to the
next. A head runs over pairs: (token i + 1, what stands for the target's
features at token i), at position i. What a layout decides is in Rules, where a
mistake can be made on purpose.
"""

import dataclasses
import functools
import json
import math

import torch
from safetensors.torch import load_file

# How an MTP head joins its inputs, told by the prefix of its tensors.
MTP = {"model.mtp_layers.0.": dict(embedding_first=False, zero_first=True),
       "mtp_layers.0.": dict(embedding_first=True, zero_first=False)}


@dataclasses.dataclass(frozen=True)
class Shape:
    """The attention of a layer."""
    heads: int
    kv_heads: int
    head_dim: int
    theta: float
    epsilon: float
    scale: float
    pairs: str = "half"  # rotary turns i with i + head_dim / 2
    groups: str = "blocks"  # heads that follow one another share keys


def shape_of(layer):
    theta = layer.get("rope_theta") or layer["rope_parameters"]["rope_theta"]
    heads = layer["num_attention_heads"]
    head_dim = layer.get("head_dim") or layer["hidden_size"] // heads
    return Shape(heads, layer["num_key_value_heads"], head_dim, theta,
                 layer["rms_norm_eps"], head_dim ** -0.5)


@dataclasses.dataclass
class Weights:
    """Tensors by name, and the steps that all models here are made of."""
    tensors: dict
    shape: Shape
    skipped: tuple = ()  # norms left out
    attention: list = dataclasses.field(default_factory=list)  # as it came out

    def __getitem__(self, name):
        return self.tensors[name]

    def linear(self, name, x):
        x = x @ self[name + ".weight"].T
        bias = self.tensors.get(name + ".bias")
        return x if bias is None else x + bias

    def norm(self, name, x):
        if name in self.skipped:
            return x
        mean = (x * x).mean(-1, keepdim=True)
        return x / (mean + self.shape.epsilon).sqrt() * self[name + ".weight"]

    def turn(self, x, positions):
        """Rotary positions. x is [pairs, heads, head_dim]."""
        half = self.shape.head_dim // 2
        steps = torch.arange(half).to(x.dtype)
        speeds = self.shape.theta ** (-steps / half)
        angles = positions.to(x.dtype)[:, None, None] * speeds
        cos, sin = angles.cos(), angles.sin()
        if self.shape.pairs == "half":
            a, b = x[..., :half], x[..., half:]
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin],
                           -1).flatten(-2)

    def attend(self, layer, x, positions, mask):
        shape, count = self.shape, len(x)

        def heads(name, number):
            return self.linear(f"{layer}self_attn.{name}_proj", x).reshape(
                count, number, shape.head_dim)

        q = self.turn(heads("q", shape.heads), positions)
        k = self.turn(heads("k", shape.kv_heads), positions)
        v = heads("v", shape.kv_heads)
        group = shape.heads // shape.kv_heads
        if shape.groups == "blocks":
            k, v = (y.repeat_interleave(group, 1) for y in (k, v))
        else:
            k, v = (y.repeat(1, group, 1) for y in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k) * shape.scale
        law = scores.masked_fill(~mask, -math.inf).softmax(-1)
        self.attention.append(law)
        mixed = torch.einsum("hqk,khd->qhd", law, v).reshape(count, -1)
        return self.linear(layer + "self_attn.o_proj", mixed)

    def feed_forward(self, layer, x):
        gate = self.linear(layer + "mlp.gate_proj", x)
        up = self.linear(layer + "mlp.up_proj", x)
        gated = gate * torch.sigmoid(gate) * up
        return self.linear(layer + "mlp.down_proj", gated)

    def rest_of_layer(self, layer, read, residual, positions, mask):
        """A layer from its attention on; `read` is what attention reads."""
        x = residual + self.attend(layer, read, positions, mask)
        return x + self.feed_forward(
            layer, self.norm(layer + "post_attention_layernorm", x))

    def ordinary_layer(self, layer, x, positions, mask):
        read = self.norm(layer + "input_layernorm", x)
        return self.rest_of_layer(layer, read, x, positions, mask)


def chain(count):
    return torch.arange(count), torch.ones(count, count).tril().bool()


@dataclasses.dataclass
class Target:
    weights: Weights
    layers: int

    @property
    def vocabulary(self):
        return len(self.weights["lm_head.weight"])

    def states(self, ids):
        """[layers + 2, tokens, width]: the embedding, after each layer, after
        the final norm."""
        positions, mask = chain(len(ids))
        x = self.weights["model.embed_tokens.weight"][ids]
        states = [x]
        for i in range(self.layers):
            x = self.weights.ordinary_layer(f"model.layers.{i}.", x, positions,
                                            mask)
            states.append(x)
        return torch.stack([*states, self.weights.norm("model.norm", x)])

    def logits(self, ids):
        return self.weights.linear("lm_head", self.states(ids)[-1])


def read_folder(folder, dtype):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = {
        name: tensor.to(dtype) if tensor.is_floating_point() else tensor
        for name, tensor in load_file(folder / "model.safetensors").items()}
    return config, tensors


def read_target(folder, dtype):
    config, tensors = read_folder(folder, dtype)
    return Target(Weights(tensors, shape_of(config)),
                  config["num_hidden_layers"])


@dataclasses.dataclass(frozen=True)
class Rules:
    """What a layout says of a head beyond its tensors."""
    kind: str
    taps: tuple  # as in expected.safetensors
    first: str  # the prefix of the first layer
    layers: int = 1
    embedding_first: bool = True
    zero_first: bool = False  # no embedding at position 0
    fc_norm: bool = False  # a norm for each tap
    norm_before_fc: bool = False  # a norm for all taps
    norm_before_residual: bool = False
    norm_fed_back: bool = False
    norms_for_logits: int = 1
    embedding: str = "stored"  # or the target's
    output: str = "stored"  # or the target's, or some rows of it
    # Mistakes alone.
    rows: str = "flags"  # which rows of the target's output matrix
    offsets: bool = True  # what d2t holds
    eagle1: str = "right"


def rules_of(config, tensors, layers):
    """The keys that decide. `layers` is how many the target has."""
    layer = config.get("transformer_layer_config", config)
    held = dict(
        embedding="stored" if "embed_tokens.weight" in tensors else "target",
        output="stored" if "lm_head.weight" in tensors else "target")
    if any("mtp_layers." in name for name in tensors):
        first = next(prefix for prefix in MTP
                     if prefix + "input_proj.weight" in tensors)
        return Rules("mtp", (-1,), first, norm_fed_back=True, **held,
                     **MTP[first])
    width = layer["hidden_size"]
    if (tensors["fc.weight"].shape[1] == 2 * width
            and "norm.weight" not in tensors):
        assert ("fc.bias" in tensors) == config.get("bias", True)
        return Rules("eagle1", (-1,), "layers.0.", **held)
    if config.get("eagle_aux_hidden_state_layer_ids"):
        taps = tuple(config["eagle_aux_hidden_state_layer_ids"])
    elif "eagle_config" in config:
        ids = config["eagle_config"]["eagle_aux_hidden_state_layer_ids"]
        taps = tuple(i + 1 for i in ids)
    else:
        taps = (2, layers // 2, layers - 3)
    if "speculators_model_type" in config:
        held.update(first="layers.0.",
                    norm_fed_back=config.get("norm_output", False))
    else:
        held.update(first="midlayer.",
                    norms_for_logits=int(config.get("norm_output", True)))
    return Rules("eagle3", taps, layers=layer["num_hidden_layers"],
                 fc_norm=config.get("fc_norm", False),
                 norm_before_fc=config.get("norm_before_fc", False),
                 norm_before_residual=config.get("norm_before_residual", False),
                 **held)


@dataclasses.dataclass
class Head:
    weights: Weights
    rules: Rules
    target: Target

    def turned(self, *, shape=None, tensors=None, skipped=(), **rules):
        """The head with a mistake in it."""
        weights = Weights({**self.weights.tensors, **(tensors or {})},
                          dataclasses.replace(self.weights.shape,
                                              **(shape or {})), skipped)
        return Head(weights, dataclasses.replace(self.rules, **rules),
                    self.target)

    def features(self, ids):
        """[tokens, taps, width of the target]"""
        return self.target.states(ids)[list(self.rules.taps)].transpose(0, 1)

    def enter(self, features):
        """What stands in a pair for the target's features, [pairs, width]."""
        w = self.weights
        if self.rules.kind != "eagle3":
            return features[:, 0]
        if self.rules.fc_norm:
            features = torch.stack(
                [w.norm(f"fc_norm.{i}", features[:, i])
                 for i in range(features.shape[1])], 1)
        joined = features.flatten(1)
        if self.rules.norm_before_fc:
            joined = w.norm("input_norm", joined)
        return w.linear("fc", joined)

    def embed(self, tokens):
        if self.rules.embedding == "stored":
            return self.weights["embed_tokens.weight"][tokens]
        return self.target.weights["model.embed_tokens.weight"][tokens]

    def join(self, embedding, hidden):
        both = [embedding, hidden]
        return torch.cat(both if self.rules.embedding_first else both[::-1], -1)

    def output(self, x):
        if self.rules.output == "stored":
            return x @ self.weights["lm_head.weight"].T
        matrix = self.target.weights["lm_head.weight"]
        flags = self.weights.tensors.get("t2d")
        if flags is not None and self.rules.rows == "flags":
            matrix = matrix[flags]
        elif flags is not None:
            matrix = matrix[:int(flags.sum())]
        return x @ matrix.T

    def tokens(self):
        """The target's id of each of the head's."""
        d2t = self.weights.tensors.get("d2t")
        if d2t is None:
            return torch.arange(self.target.vocabulary)
        return torch.arange(len(d2t)) + d2t if self.rules.offsets else d2t

    def by_target(self, logits):
        every = torch.full((len(logits), self.target.vocabulary), -math.inf,
                           dtype=logits.dtype)
        every[:, self.tokens()] = logits
        return every

    def run(self, tokens, hidden, positions, mask):
        """(what pairs feed back, their logits)"""
        embedding = self.embed(tokens)
        kind = {"eagle1": self.eagle1, "eagle3": self.eagle3, "mtp": self.mtp}
        return kind[self.rules.kind](embedding, hidden, positions, mask)

    def eagle1(self, embedding, hidden, positions, mask):
        w, rules = self.weights, self.rules
        x = w.linear("fc", self.join(embedding, hidden))
        read, residual, final = x, x, lambda x: x
        if rules.eagle1 == "input norm":
            read = w.norm("layers.0.post_attention_layernorm", x)
        elif rules.eagle1 == "final norm":
            final = functools.partial(self.target.weights.norm, "model.norm")
        elif rules.eagle1 == "residual":
            residual = hidden
        x = w.rest_of_layer(rules.first, read, residual, positions, mask)
        return x, self.output(final(x))

    def eagle3(self, embedding, hidden, positions, mask):
        w, rules = self.weights, self.rules
        normed = w.norm(rules.first + "hidden_norm", hidden)
        read = self.join(w.norm(rules.first + "input_layernorm", embedding),
                         normed)
        x = w.rest_of_layer(rules.first, read,
                            normed if rules.norm_before_residual else hidden,
                            positions, mask)
        for i in range(1, rules.layers):
            x = w.ordinary_layer(f"layers.{i}.", x, positions, mask)
        normed = w.norm("norm", x)
        twice = w.norm("norm", normed)
        return (normed if rules.norm_fed_back else x,
                self.output((x, normed, twice)[rules.norms_for_logits]))

    def mtp(self, embedding, hidden, positions, mask):
        w, rules = self.weights, self.rules
        if rules.zero_first:
            embedding = embedding * (positions != 0)[:, None]
        x = w.linear(rules.first + "input_proj", self.join(
            w.norm(rules.first + "token_layernorm", embedding),
            w.norm(rules.first + "hidden_layernorm", hidden)))
        x = w.ordinary_layer(rules.first, x, positions, mask)
        normed = w.norm(rules.first + "final_layernorm", x)
        twice = w.norm(rules.first + "final_layernorm", normed)
        return (normed if rules.norm_fed_back else x,
                self.output((x, normed, twice)[rules.norms_for_logits]))


def read_head(folder, target, dtype):
    config, tensors = read_folder(folder, dtype)
    layer = config.get("transformer_layer_config", config)
    return Head(Weights(tensors, shape_of(layer)),
                rules_of(config, tensors, target.layers), target)


def path_to(node, parents):
    path = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


def pass_over(head, ids, features):
    """(what pairs feed back, their logits) of a text, all features known."""
    return head.run(ids[1:], head.enter(features), *chain(len(ids) - 1))


def tree_alone(head, ids, features, parents, choose):
    """(tokens, what nodes feed back, logits) of a tree below a text. Each node
    is computed as the end of a text of its own, of which nothing is kept.
    `choose(node, tokens)` gives its token, of all that its parent has, the
    likeliest first."""
    pairs, known = head.enter(features), head.tokens()
    fed, logits = pass_over(head, ids, features)
    found = {-1: (fed[-1], logits[-1])}
    chosen = []
    for node, parent in enumerate(parents):
        _, proposed = found[parent]
        chosen.append(choose(node, known[proposed.argsort(descending=True)]))
        path = path_to(node, parents)
        text = torch.cat([ids[1:], torch.stack([chosen[i] for i in path])])
        hidden = torch.stack([found[parents[i]][0] for i in path])
        fed, logits = head.run(text, torch.cat([pairs, hidden]),
                               *chain(len(text)))
        found[node] = (fed[-1], logits[-1])
    fed, logits = zip(*(found[node] for node in range(len(parents))))
    return torch.stack(chosen), torch.stack(fed), torch.stack(logits)


def tree_at_once(head, ids, features, parents, tokens, *, seen="ancestors",
                 place="depth", fed_by="parent"):
    """(what nodes feed back, logits) of the tree, by a pass over the text and
    all nodes for each level."""
    pairs = head.enter(features)
    text, nodes = len(pairs), len(parents)
    paths = [path_to(node, parents) for node in range(nodes)]
    _, mask = chain(text + nodes)
    if seen == "ancestors":
        mask[text:, text:] = False
        for node, path in enumerate(paths):
            mask[text + node, [text + i for i in path]] = True
    start = {"depth": text - 1, "one late": text, "order": text}[place]
    positions = torch.cat([torch.arange(text), torch.tensor(
        [start + (node if place == "order" else len(path))
         for node, path in enumerate(paths)])])
    hidden = torch.cat([pairs, torch.zeros(nodes, pairs.shape[1],
                                           dtype=pairs.dtype)])
    for level in range(1, max(map(len, paths)) + 2):
        fed, logits = head.run(torch.cat([ids[1:], tokens]), hidden, positions,
                               mask)
        for node, path in enumerate(paths):
            if len(path) == level:
                parent = parents[node] if fed_by == "parent" else -1
                hidden[text + node] = fed[text + parent]
    return fed[text:], logits[text:]
