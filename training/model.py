"""A decoder of the Llama kind in PyTorch: Llama, Mistral, Qwen2 and Qwen3.

It reads and writes the directories of Hugging Face, and is small on purpose:
what it must agree with is the engine in C++ (tests/goldens), not a framework.
"""

import dataclasses
import math
import pathlib

import safetensors
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional

from training.errors import UserError
from training.files import read_json, replaced, write_json

FAMILIES = {  # model_type: (class, bias on q k v, norms on q and k)
    "llama": ("LlamaForCausalLM", False, False),
    "mistral": ("MistralForCausalLM", False, False),
    "qwen2": ("Qwen2ForCausalLM", True, False),
    "qwen3": ("Qwen3ForCausalLM", False, True),
}


@dataclasses.dataclass
class Shape:
    vocab_size: int
    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    context: int
    family: str = "llama"
    norm_epsilon: float = 1e-5
    rope_theta: float = 10000.0
    rope_scaling: dict | None = None
    window: int | None = None
    wide: tuple = ()  # the layers that the window does not bind
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    tied: bool = True


class Norm(nn.Module):
    def __init__(self, size, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x):
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)
        return (wide * scale).to(x.dtype) * self.weight.to(x.dtype)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        width = shape.heads * shape.head_dim
        kv_width = shape.kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.hidden_size, width, shape.qkv_bias)
        self.k_proj = nn.Linear(shape.hidden_size, kv_width, shape.qkv_bias)
        self.v_proj = nn.Linear(shape.hidden_size, kv_width, shape.qkv_bias)
        self.o_proj = nn.Linear(width, shape.hidden_size, shape.output_bias)
        self.q_norm = self.k_norm = None
        if FAMILIES[shape.family][2]:
            self.q_norm = Norm(shape.head_dim, shape.norm_epsilon)
            self.k_norm = Norm(shape.head_dim, shape.norm_epsilon)

    def forward(self, x, rotation, mask, cache=None):
        batch, length, _ = x.shape
        query, key, value = (
            projection(x).view(batch, length, -1, self.shape.head_dim)
            for projection in (self.q_proj, self.k_proj, self.v_proj))
        if self.q_norm is not None:
            query, key = self.q_norm(query), self.k_norm(key)
        query, key = rotate(query, rotation), rotate(key, rotation)
        causal = mask is None
        if cache is not None:
            causal = causal and not cache
            cache["keys"] = key = _after(cache.get("keys"), key)
            cache["values"] = value = _after(cache.get("values"), value)
        mixed = functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2),
            attn_mask=mask, is_causal=causal,
            enable_gqa=self.shape.heads != self.shape.kv_heads)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self, shape):
        super().__init__()
        size, inner = shape.hidden_size, shape.feed_forward
        self.gate_proj = nn.Linear(size, inner, shape.mlp_bias)
        self.up_proj = nn.Linear(size, inner, shape.mlp_bias)
        self.down_proj = nn.Linear(inner, size, shape.mlp_bias)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) *
                              self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input_layernorm = Norm(shape.hidden_size, shape.norm_epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.hidden_size,
                                             shape.norm_epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x, rotation, mask, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), rotation, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Parameters are named as in a Hugging Face checkpoint, less `model.`."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden_size, shape.norm_epsilon)
        self.lm_head = None
        if not shape.tied:
            self.lm_head = nn.Linear(shape.hidden_size, shape.vocab_size, False)
        self.frequencies = rope_frequencies(shape)
        self.windows = [None if number in shape.wide else shape.window
                        for number in range(shape.layers)]

    def initialise(self, generator):
        """Weights to start training from."""
        for name, weight in self.named_parameters():
            if weight.dim() < 2:
                continue
            deviation = 0.02 if "embed" in name else weight.shape[1] ** -0.5
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                deviation /= math.sqrt(2 * self.shape.layers)
            with torch.no_grad():
                weight.copy_(torch.randn(weight.shape, generator=generator) *
                             deviation)

    def streams(self, ids, skipped=()):
        """The residual stream after each layer, before the final norm; layers
        in `skipped` are left out."""
        length = ids.shape[1]
        if length > self.shape.context:
            raise UserError(f"{length} tokens do not fit the model's context "
                            f"of {self.shape.context}")
        rotation = rotation_of(self.frequencies, 0, length, ids.device)
        masks = {window: window_mask(window, length, ids.device)
                 for window in set(self.windows)}
        x = self.embed_tokens(ids)
        streams = []
        for number, layer in enumerate(self.layers):
            if number not in skipped:
                x = layer(x, rotation, masks[self.windows[number]])
            streams.append(x)
        return streams

    def hidden(self, ids, exits=(), skipped=()):
        """The hidden state after the final norm, and after the layers `exits`,
        normed too; layers in `skipped` are left out."""
        streams = self.streams(ids, skipped)
        return (self.norm(streams[-1]),
                {number: self.norm(streams[number - 1]) for number in exits})

    def step(self, ids, start, caches):
        """The normed hidden states of `ids`, which follow `start` tokens whose
        keys and values are in `caches`, a dict a layer; adds theirs."""
        length = ids.shape[1]
        rotation = rotation_of(self.frequencies, start, length, ids.device)
        masks = {window: step_mask(window, start, length, ids.device)
                 for window in set(self.windows)}
        x = self.embed_tokens(ids)
        for layer, window, cache in zip(self.layers, self.windows, caches):
            x = layer(x, rotation, masks[window], cache)
        return self.norm(x)

    def logits(self, hidden, tokens=None):
        """Of all tokens, or of `tokens` alone."""
        head = self.embed_tokens if self.lm_head is None else self.lm_head
        weight = head.weight if tokens is None else head.weight[tokens]
        return functional.linear(hidden, weight)

    def forward(self, ids, tokens=None):
        return self.logits(self.hidden(ids)[0], tokens)

    def size(self):
        return sum(weight.numel() for weight in self.parameters())


def rope_frequencies(shape):
    half = torch.arange(0, shape.head_dim, 2, dtype=torch.float32)
    frequencies = 1.0 / shape.rope_theta ** (half / shape.head_dim)
    scaling = shape.rope_scaling
    if not scaling:
        return frequencies
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind in (None, "default"):
        return frequencies
    if kind == "linear":
        return frequencies / scaling["factor"]
    if kind != "llama3":
        raise UserError(f"rope_scaling: type {kind!r} is not known here; "
                        "linear and llama3 are")
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = (scaling["original_max_position_embeddings"] * frequencies /
             (2 * math.pi))
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (smooth + (1 - smooth) / scaling["factor"])


def rotation_of(frequencies, start, length, device):
    positions = torch.arange(start, start + length, dtype=torch.float32,
                             device=device)
    angles = torch.outer(positions, frequencies.to(device))
    return angles.cos()[None, :, None], angles.sin()[None, :, None]


def rotate(x, rotation):
    cosine, sine = (part.to(x.dtype) for part in rotation)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine,
                      second * cosine + first * sine), dim=-1)


def _after(before, x):
    return x if before is None else torch.cat((before, x), dim=1)


def window_mask(window, length, device):
    """None where plain causal attention will do."""
    if window is None or window >= length:
        return None
    return _within(window, 0, length, device)


def step_mask(window, start, length, device):
    """The same for `length` tokens after `start` others."""
    if window is None and (start == 0 or length == 1):
        return None
    return _within(window or start + length, start, length, device)


def _within(window, start, length, device):
    position = torch.arange(start + length, device=device)
    behind = position[start:, None] - position[None]
    return (behind >= 0) & (behind < window)


def shape_of_config(config, path):
    """The shape that a config.json describes."""
    family = config.get("model_type")
    if family not in FAMILIES:
        raise UserError(f"{path}: model_type: expected one of "
                        f"{', '.join(FAMILIES)}, found {family!r}")
    try:
        rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
        window, wide = windows_of_config(config, path)
        return Shape(
            vocab_size=config["vocab_size"],
            hidden_size=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            kv_heads=config.get("num_key_value_heads") or
            config["num_attention_heads"],
            head_dim=config.get("head_dim") or
            config["hidden_size"] // config["num_attention_heads"],
            feed_forward=config["intermediate_size"],
            context=config["max_position_embeddings"],
            family=family,
            norm_epsilon=config.get("rms_norm_eps", 1e-6),
            rope_theta=config.get("rope_theta") or
            rope.get("rope_theta", 10000.0),
            rope_scaling=rope or None,
            window=window,
            wide=wide,
            qkv_bias=config.get("attention_bias", FAMILIES[family][1]),
            output_bias=config.get("attention_bias", False),
            mlp_bias=config.get("mlp_bias", False),
            tied=config.get("tie_word_embeddings", False))
    except KeyError as error:
        raise UserError(
            f"{path}: {error.args[0]}: the key is missing") from error


def windows_of_config(config, path):
    """The sliding window, None if there is none, and the layers without."""
    window = config.get("sliding_window", 4096)
    if config["model_type"] == "mistral":
        return window, ()
    if config["model_type"] == "llama" or not config.get("use_sliding_window"):
        return None, ()
    layers = config["num_hidden_layers"]
    types = config.get("layer_types")
    if types is None:
        return window, tuple(range(min(layers,
                                       config.get("max_window_layers", 28))))
    known = {"full_attention", "sliding_attention"}
    if len(types) != layers or set(types) - known:
        raise UserError(f"{path}: layer_types: expected {layers} of "
                        f"{' and '.join(sorted(known))}, found {types}")
    return window, tuple(number for number, kind in enumerate(types)
                         if kind == "full_attention")


def read_model(directory, device="cpu"):
    """A model from its directory, in float32."""
    directory = pathlib.Path(directory)
    config = read_json(directory / "config.json")
    model = Decoder(shape_of_config(config, directory / "config.json"))
    stored = read_tensors(directory)
    wanted = model.state_dict()
    for name in wanted:
        full = name if name.startswith("lm_head.") else f"model.{name}"
        if full not in stored:
            raise UserError(f"{directory}: tensor {full!r} is missing")
        if stored[full].shape != wanted[name].shape:
            raise UserError(f"{directory}: tensor {full!r}: expected shape "
                            f"{list(wanted[name].shape)}, found "
                            f"{list(stored[full].shape)}")
        wanted[name] = stored[full].float()
    model.load_state_dict(wanted)
    return model.to(device)


def read_tensors(directory):
    """All tensors of model.safetensors or, without one, of the directory's
    other safetensors files."""
    paths = (sorted(pathlib.Path(directory).glob("model.safetensors")) or
             sorted(pathlib.Path(directory).glob("*.safetensors")))
    if not paths:
        raise UserError(f"{directory}: there are no safetensors files")
    tensors = {}
    for path in paths:
        try:
            tensors.update(safetensors.torch.load_file(path))
        except (OSError, safetensors.SafetensorError) as error:
            raise UserError(f"{path}: {error}") from error
    return tensors


def llama_keys(shape, architecture, dtype):
    """What config.json says of every network of this shape."""
    keys = {
        "architectures": [architecture],
        "model_type": "llama",
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.layers,
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
        keys["rope_scaling"] = shape.rope_scaling
    return keys


def write_model(model, directory, end_of_text, dtype=torch.bfloat16):
    """The model as a Hugging Face directory, less the tokenizer."""
    shape = model.shape
    directory = pathlib.Path(directory)
    write_tensors(
        {name if name.startswith("lm_head.") else f"model.{name}": weight
         for name, weight in model.state_dict().items()},
        directory / "model.safetensors", dtype)
    config = {
        **llama_keys(shape, FAMILIES[shape.family][0], dtype),
        "model_type": shape.family,
        "tie_word_embeddings": shape.tied,
        "bos_token_id": end_of_text,
        "eos_token_id": end_of_text,
    }
    if shape.family in ("llama", "qwen3"):
        config["attention_bias"] = shape.qkv_bias
    if shape.family == "llama":
        config["mlp_bias"] = shape.mlp_bias
    if shape.family == "mistral":
        config["sliding_window"] = shape.window
    elif shape.window:
        config["sliding_window"] = shape.window
        config["use_sliding_window"] = True
        config["layer_types"] = [
            "full_attention" if number in shape.wide else "sliding_attention"
            for number in range(shape.layers)]
    write_json(directory / "config.json", config)


def write_tensors(tensors, path, dtype):
    """Numbers of a floating type in `dtype`; None: in the one they have."""
    with replaced(path) as name:
        try:
            safetensors.torch.save_file(
                # Copied, for tensors in a file may not share memory.
                {key: value.detach().to(
                    "cpu",
                    dtype if dtype and value.is_floating_point() else
                    value.dtype, copy=True).contiguous()
                 for key, value in tensors.items()}, name,
                metadata={"format": "pt"})
        except safetensors.SafetensorError as error:
            raise UserError(f"{path}: cannot be written: {error}") from error
