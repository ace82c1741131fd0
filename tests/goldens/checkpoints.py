#!/usr/bin/env python3
"""Writes tests/goldens/checkpoints: a tiny random model of every family, with
what another implementation makes of it.

  checkpoints.py [FOLDER]

Needs packages that neither the project nor its tests need, so use an
environment elsewhere:

  python3 -m venv /tmp/goldens
  /tmp/goldens/bin/pip install torch==2.8.0 transformers==5.23.0
  /tmp/goldens/bin/python tests/goldens/checkpoints.py

Each folder holds a checkpoint as transformers writes it (some rewritten in the
older spelling of config.json, which transformers then reads too) and
logits.safetensors:

  ids       I64 [20]                  the input
  logits32  F32 [20, vocab]           after every token, computed in float32
  logits64  F64 [20, vocab]           the same in float64
  hidden64  F64 [layers + 2, 3, hidden]  of the last three tokens: after the
            embedding, after each layer, after the final norm

Both are computed from the stored weights, as read back from the folder.
transformers casts some steps to float32 whatever the model's type; for float64
those casts are replaced, and an operation that still gives float32 is an error.
The models are made so that a mistake shows: sizes that no vector length
divides, attention that is far from uniform, norms that are not one, biases that
are not zero, and windows and rotary scalings that change the logits.
"""

import contextlib
import json
import math
import pathlib
import shutil
import sys
import types
from unittest import mock

import torch
import transformers
from safetensors.torch import save_file
from transformers import modeling_rope_utils

from no_float32 import NoFloat32

TOKENS = 20
SHOWN = 3
SMALL = dict(vocab_size=53, hidden_size=20, intermediate_size=28,
             num_hidden_layers=2, num_attention_heads=5, num_key_value_heads=5,
             max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
             rms_norm_eps=1e-5, tie_word_embeddings=False)
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=6.0,
              low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)

# name -> (configuration class, its arguments, stored type, what else)
MODELS = {
    "llama": ("LlamaConfig", dict(
        SMALL, vocab_size=83, hidden_size=36, intermediate_size=52,
        num_attention_heads=6, num_key_value_heads=2), "bfloat16",
        dict(eos=[2, 7])),
    "llama_linear": ("LlamaConfig", dict(
        SMALL, rope_parameters=dict(rope_type="linear", rope_theta=500.0,
                                    factor=3.0)), "float16",
        dict(older="type", plain=dict(rope_type="default", rope_theta=500.0))),
    "llama_llama3": ("LlamaConfig", dict(
        SMALL, num_attention_heads=4, num_key_value_heads=1, head_dim=8,
        rope_parameters=LLAMA3), "bfloat16",
        dict(plain=dict(rope_type="default", rope_theta=100.0))),
    "llama_biased": ("LlamaConfig", dict(
        SMALL, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
        "float32", {}),
    "mistral": ("MistralConfig", dict(
        SMALL, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
        sliding_window=5), "bfloat16",
        dict(older="rope_type", plain=dict(sliding_window=None))),
    "qwen2": ("Qwen2Config", dict(
        SMALL, num_hidden_layers=3, num_attention_heads=5,
        num_key_value_heads=1, use_sliding_window=True, sliding_window=7,
        max_window_layers=1, layer_types=None), "bfloat16",
        dict(shards="7kB", plain=dict(sliding_window=4096))),
    "qwen3": ("Qwen3Config", dict(
        SMALL, hidden_size=22, num_attention_heads=4, num_key_value_heads=2,
        head_dim=10, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=1e6)), "float16",
        {}),
    "gpt2": ("GPT2Config", dict(
        vocab_size=53, n_embd=20, n_head=5, n_layer=2, n_positions=32,
        n_inner=None, scale_attn_by_inverse_layer_idx=True, bos_token_id=1,
        eos_token_id=2), "float16", {}),
}


def make(config, dtype, seed):
    """A model with random weights, as wide apart as a trained one's."""
    model = transformers.AutoModelForCausalLM.from_config(config)
    chance = torch.Generator().manual_seed(seed)
    tied = config.tie_word_embeddings
    conv1d = config.model_type == "gpt2"
    for name, weight in model.named_parameters():
        drawn = torch.randn(weight.shape, generator=chance)
        if weight.dim() == 1:
            drawn = drawn * 0.3 + (1.0 if name.endswith("norm.weight") or
                                   "ln_" in name and "weight" in name or
                                   "layernorm" in name else 0.0)
            if "q_norm" in name or "k_norm" in name:
                drawn *= 1.6
        elif "embed_tokens" in name or "wte" in name or "lm_head" in name:
            drawn *= 2 / math.sqrt(weight.shape[1])
        elif "wpe" in name:
            drawn *= 0.3
        else:
            inputs = weight.shape[0 if conv1d else 1]
            sharp = any(k in name for k in ("q_proj", "k_proj", "c_attn"))
            drawn *= (1.4 if sharp else 1.0) / math.sqrt(inputs)
        weight.data = drawn
    assert tied == (model.get_output_embeddings().weight is
                    model.get_input_embeddings().weight)
    return model.to(dtype)


def spell_older(folder, key):
    """config.json as it was before rope_parameters and dtype."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    config["rope_scaling"] = (
        None if kind == "default" else {key: kind, **rope})
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n",
                    encoding="utf-8")


class Torch64(types.ModuleType):
    """The torch module, but for whom float32 is float64."""
    float32 = torch.float64
    float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def all_float64(model_type):
    module = sys.modules[
        f"transformers.models.{model_type}.modeling_{model_type}"]
    with contextlib.ExitStack() as stack:
        for place in (module, modeling_rope_utils):
            if hasattr(place, "torch"):
                stack.enter_context(
                    mock.patch.object(place, "torch", Torch64("torch")))
        stack.enter_context(
            mock.patch.object(torch.Tensor, "float", torch.Tensor.double))
        yield


def layers_of(model):
    inner = model.base_model
    return (inner.h, inner.ln_f) if hasattr(inner, "h") else (inner.layers,
                                                              inner.norm)


def run(folder, dtype, ids, **changed):
    """(logits, hidden states of the last tokens) of the stored model."""
    config = transformers.AutoConfig.from_pretrained(folder)
    for key, value in changed.items():
        setattr(config, key, value)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, config=config, dtype=dtype, attn_implementation="eager")
    model.eval()
    assert all(buffer.dtype == dtype for buffer in model.buffers()
               if buffer.is_floating_point())
    states = []

    def keep(value):
        value = value[0] if isinstance(value, tuple) else value
        states.append(value.reshape(TOKENS, -1)[-SHOWN:].clone())

    layers, norm = layers_of(model)
    layers[0].register_forward_pre_hook(
        lambda _, args, kwargs: keep(args[0] if args
                                     else kwargs["hidden_states"]),
        with_kwargs=True)
    for module in [*layers, norm]:
        module.register_forward_hook(lambda _, args, out: keep(out))
    strict = NoFloat32() if dtype == torch.float64 else contextlib.nullcontext()
    with torch.no_grad(), strict:
        logits = model(ids[None], use_cache=False).logits[0]
    assert logits.dtype == dtype and len(states) == len(layers) + 2
    return logits.contiguous(), torch.stack(states)


def write(folder, name, seed):
    kind, arguments, dtype, more = MODELS[name]
    shutil.rmtree(folder, ignore_errors=True)
    config = getattr(transformers, kind)(**arguments)
    model = make(config, getattr(torch, dtype), seed)
    model.generation_config.bos_token_id = 1
    model.generation_config.eos_token_id = more.get("eos", 2)
    model.save_pretrained(folder, max_shard_size=more.get("shards", "1GB"))
    if "older" in more:
        spell_older(folder, more["older"])
    ids = torch.randint(0, config.vocab_size, (TOKENS,),
                        generator=torch.Generator().manual_seed(1000 + seed))
    logits32, _ = run(folder, torch.float32, ids)
    with all_float64(config.model_type):
        logits64, hidden64 = run(folder, torch.float64, ids)
    off = (logits32 - logits64).abs().max().item()
    assert off < 2e-4 and logits64.std() > 1, (off, logits64.std())
    if "plain" in more:
        plain = more["plain"]
        plain = {"rope_parameters": plain} if "rope_type" in plain else plain
        moved = (run(folder, torch.float32, ids, **plain)[0] -
                 logits32).abs().max().item()
        assert moved > 0.1, f"{name}: {plain} changes nothing"
    save_file({"ids": ids, "logits32": logits32, "logits64": logits64,
               "hidden64": hidden64}, folder / "logits.safetensors")
    size = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{name}: {size} bytes, logits within {logits64.min():.1f} and "
          f"{logits64.max():.1f}, std {logits64.std():.2f}, float32 off by "
          f"{off:.1e}", flush=True)


def main(arguments):
    here = pathlib.Path(__file__).resolve().parent / "checkpoints"
    root = pathlib.Path(arguments[0]) if arguments else here
    for seed, name in enumerate(MODELS):
        write(root / name, name, seed)


if __name__ == "__main__":
    main(sys.argv[1:])
