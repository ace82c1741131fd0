#!/usr/bin/env python3
"""Greedy decoding of a llama by PyTorch: bfloat16, a static cache, compiled.

  torch_decode.py MODEL TOKENS

MODEL is a folder with config.json and *.safetensors. Prints milliseconds a token,
the median of five runs, and the tokens' ids. What it is to be compared with is
`banyan generate --ids 1,2,3,4` of as many tokens.
"""

import argparse
import json
import pathlib
import statistics
import struct
import time

if __name__ == "__main__":  # before PyTorch, which may be missing
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("tokens", type=int, metavar="TOKENS")
    OPTIONS = parser.parse_args()

import torch  # noqa: E402 (the arguments come first)

PROMPT = [1, 2, 3, 4]


def tensors(folder):
    """Every tensor of a folder's files, by name."""
    kinds = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            piece = bytearray(data[8 + size + begin:8 + size + end])
            found[name] = torch.frombuffer(
                piece, dtype=kinds[entry["dtype"]]).reshape(entry["shape"])
    return found


class Llama(torch.nn.Module):
    """One token a call; keys and values of all positions stay where they are."""

    def __init__(self, folder, positions, device):
        super().__init__()
        config = json.loads((folder / "config.json").read_text())
        weights = {name: tensor.to(device, torch.bfloat16)
                   for name, tensor in tensors(folder).items()}
        self.heads = config["num_attention_heads"]
        self.kv_heads = config["num_key_value_heads"]
        self.size = config.get("head_dim", config["hidden_size"] // self.heads)
        self.epsilon = config["rms_norm_eps"]
        self.embedding = weights["model.embed_tokens.weight"]
        self.head = weights.get("lm_head.weight", self.embedding)
        self.last = weights["model.norm.weight"]
        self.layers = []
        for i in range(config["num_hidden_layers"]):
            at = f"model.layers.{i}."
            def of(name, at=at):
                return weights[at + name + ".weight"]
            self.layers.append((
                of("input_layernorm"), of("post_attention_layernorm"),
                torch.cat([of(f"self_attn.{x}_proj") for x in "qkv"]),
                of("self_attn.o_proj"),
                torch.cat([of("mlp.gate_proj"), of("mlp.up_proj")]),
                of("mlp.down_proj")))
        theta = config.get("rope_theta", 10000.0)
        half = torch.arange(0, self.size, 2, device=device).float() / self.size
        angles = torch.outer(torch.arange(positions, device=device).float(),
                             theta ** -half)
        self.cosines, self.sines = angles.cos(), angles.sin()
        shape = (config["num_hidden_layers"], self.kv_heads, positions, self.size)
        self.keys = torch.zeros(shape, dtype=torch.bfloat16, device=device)
        self.values = torch.zeros_like(self.keys)
        self.places = torch.arange(positions, device=device)

    def norm(self, x, weight):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return y.to(x.dtype) * weight

    def turn(self, x, position):
        a, b = x.float().chunk(2, -1)
        cosine, sine = self.cosines[position], self.sines[position]
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine],
                         -1).to(x.dtype)

    def forward(self, token, position):
        linear = torch.nn.functional.linear
        x = self.embedding[token]
        for i, (first, second, qkv, out, gate_up, down) in enumerate(self.layers):
            q, k, v = linear(self.norm(x, first), qkv).split(
                [self.heads * self.size] + 2 * [self.kv_heads * self.size], -1)
            q = self.turn(q.view(self.heads, 1, self.size), position)
            k = self.turn(k.view(self.kv_heads, 1, self.size), position)
            self.keys[i].index_copy_(1, position, k)
            self.values[i].index_copy_(1, position,
                                       v.view(self.kv_heads, 1, self.size))
            group = self.heads // self.kv_heads
            y = torch.nn.functional.scaled_dot_product_attention(
                q[None], self.keys[i].repeat_interleave(group, 0)[None],
                self.values[i].repeat_interleave(group, 0)[None],
                attn_mask=(self.places <= position)[None, None, None])
            x = x + linear(y.reshape(1, -1), out)
            gate, up = linear(self.norm(x, second), gate_up).chunk(2, -1)
            x = x + linear(torch.nn.functional.silu(gate) * up, down)
        return linear(self.norm(x, self.last), self.head).argmax(-1)


def decode(step, count, device):
    ids = []
    start = None
    for position in range(len(PROMPT) + count - 1):
        if position == len(PROMPT) - 1:
            if device == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
        fed = PROMPT[position] if position < len(PROMPT) else ids[-1]
        token = fed if torch.is_tensor(fed) else torch.tensor([fed], device=device)
        following = step(token, torch.tensor([position], device=device)).clone()
        if position >= len(PROMPT) - 1:
            ids.append(following)
    if device == "cuda":
        torch.cuda.synchronize()
    ms = (time.perf_counter() - start) * 1e3 / count
    return ms, [int(token) for token in ids]


def main(folder, count):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.inference_mode():
        model = Llama(folder, len(PROMPT) + count, device)
        step = (torch.compile(model, mode="reduce-overhead", fullgraph=True)
                if device == "cuda" else model)
        decode(step, count, device)  # compiles
        runs = [decode(step, count, device) for _ in range(5)]
    print(f"PyTorch {torch.__version__} on {device}: "
          f"{statistics.median(ms for ms, _ in runs):.3f} ms a token")
    print("ids:", ",".join(str(token) for token in runs[0][1]))


if __name__ == "__main__":
    main(OPTIONS.model, OPTIONS.tokens)
