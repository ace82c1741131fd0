#!/usr/bin/env python3
"""Writes tests/goldens/gguf: tiny random models as GGUF files, with what other
implementations make of them.

  gguf_models.py [FOLDER]

Needs packages that neither the project nor its tests need, so use an
environment elsewhere:

  python3 -m venv /tmp/goldens
  /tmp/goldens/bin/pip install torch==2.8.0 transformers==5.23.0 gguf==0.19.0
  /tmp/goldens/bin/python tests/goldens/gguf_models.py

NAME.gguf of each architecture; `types` has every type of weights. The package
gguf writes the files and turns their weights back into float32; with these
transformers computes, as in checkpoints.py, what NAME.safetensors holds:

  ids       I64 [20]         the input
  logits32  F32 [20, vocab]  after every token, computed in float32
  logits64  F64 [20, vocab]  the same in float64
  text.I, text_ids.I         some texts as bytes, and their tokens by the library
                             tokenizers with the steps that the file names

blocks.safetensors holds, for every type of blocks, random ones and the numbers
that the package gguf makes of them:

  TYPE.stored  U8, TYPE.numbers  F32
"""

import pathlib
import sys
import tempfile

# The library tokenizers, not the file of that name beside this one.
HERE = sys.path.pop(0)
import gguf  # noqa: E402
import numpy as np  # noqa: E402
import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from gguf import GGMLQuantizationType as Type  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

sys.path.insert(0, HERE)
import checkpoints  # noqa: E402

SMALL = dict(vocab_size=276, hidden_size=64, intermediate_size=96,
             num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, bos_token_id=273, eos_token_id=274,
             rms_norm_eps=1e-5, tie_word_embeddings=False)
ROPE = dict(rope_type="default", rope_theta=1000.0)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0,
              low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=8192)
WIDE = dict(SMALL, hidden_size=256, intermediate_size=256,
            num_key_value_heads=1, max_position_embeddings=8192 * 4)

# name -> (configuration class, its arguments, pre-tokenizer, type of each
# tensor by a part of its name in the file; F32 where none fits)
MODELS = {
    "llama": ("LlamaConfig", dict(SMALL, rope_parameters=ROPE), "smollm",
              {"attn_q.w": Type.F16, "attn_k.w": Type.BF16,
               "attn_v.w": Type.Q8_0, "ffn": Type.Q4_0,
               "token_embd": Type.F16, "output.w": Type.Q8_0}),
    "qwen2": ("Qwen2Config", dict(SMALL, rope_parameters=ROPE,
                                  tie_word_embeddings=True), "qwen2",
              {"attn_q.w": Type.Q8_0, "attn_k.w": Type.Q8_0,
               "token_embd": Type.Q8_0, "ffn": Type.Q4_1}),
    "qwen3": ("Qwen3Config", dict(SMALL, rope_parameters=ROPE, head_dim=32),
              "qwen2", {"attn_q.w": Type.Q4_1, "attn_k.w": Type.BF16,
                        "ffn": Type.Q8_0, "output.w": Type.F16,
                        "token_embd": Type.Q8_0}),
    "gpt2": ("GPT2Config", dict(
        vocab_size=276, n_embd=64, n_head=4, n_layer=2, n_positions=32,
        n_inner=None, bos_token_id=273, eos_token_id=274), "gpt-2",
        {"attn_qkv.w": Type.Q8_0, "attn_output.w": Type.F16,
         "ffn": Type.Q4_0, "token_embd": Type.Q8_0}),
    "types": ("LlamaConfig", dict(WIDE, rope_parameters=LLAMA3), "llama-bpe",
              {"token_embd": Type.Q8_0, "attn_q": Type.Q4_K,
               "attn_k": Type.BF16, "attn_v": Type.F16,
               "attn_output": Type.Q6_K, "ffn_gate": Type.Q4_1,
               "ffn_up": Type.Q5_K, "ffn_down": Type.Q4_0,
               "output.w": Type.Q6_K}),
}

NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm",
    "lm_head": "output", "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm", "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

K_BYTES = {Type.Q4_K: 144, Type.Q5_K: 176, Type.Q6_K: 210}
K_SCALES = {Type.Q4_K: (0, 2), Type.Q5_K: (0, 2), Type.Q6_K: (208,)}

TEXTS = ["def add(a, b): return a + b", "In 1969, 3 men flew 384400 km.",
         "It's  two   spaces\n\nand\tÜbergröße — naïve ½", "12345 67",
         "<|im_start|>user\nhi<|im_end|>\n", " the then there"]


def name_in_file(name):
    stem, _, ending = name.rpartition(".")
    if stem in NAMES:
        return f"{NAMES[stem]}.{ending}"
    parts = stem.split(".")
    return f"blk.{parts[2]}.{NAMES['.'.join(parts[3:])]}.{ending}"


def random_blocks(kind, rows, columns, chance):
    """Of the types that the package reads and does not write."""
    size = K_BYTES[kind]
    blocks = chance.integers(0, 256, (rows * columns // 256, size),
                             dtype=np.uint8)
    for at in K_SCALES[kind]:
        spread = 2e-4 if kind == Type.Q6_K else 6e-4
        scale = chance.uniform(-spread, spread, len(blocks)).astype(np.float16)
        blocks[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, -1)


def stored(kind, weight, chance):
    """The weight's bytes as the type has them, and the numbers they mean."""
    if kind in K_BYTES:
        data = random_blocks(kind, *weight.shape, chance)
    elif kind == Type.F16:
        data = weight.astype(np.float16)
    else:
        data = gguf.quants.quantize(weight, kind)
    return data, gguf.quants.dequantize(data, kind).reshape(weight.shape)


def permuted(weight, heads):
    """Rows as llama's files have them: the two halves of a head in turn."""
    rows = weight.shape[0]
    return (weight.reshape(heads, 2, rows // heads // 2, *weight.shape[1:])
            .swapaxes(1, 2).reshape(weight.shape))


def unpermuted(weight, heads):
    rows = weight.shape[0]
    return (weight.reshape(heads, rows // heads // 2, 2, *weight.shape[1:])
            .swapaxes(1, 2).reshape(weight.shape))


def vocabulary():
    """Bytes, some merges, three control tokens."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "d"), ("ad", "d"),
              ("1", "2"), ("12", "3"), ("Ġ", "a"), ("i", "n"), ("Ġ", "Ġ"),
              ("e", "r"), ("r", "e"), ("re", "t"), ("Ġ", "ret"), ("o", "n"),
              ("3", "8"), ("Ċ", "Ċ")]
    tokens = letters + [a + b for a, b in merges]
    return tokens, merges, ["<|begin|>", "<|im_end|>", "<|im_start|>"]


def oracle(pre, tokens, merges, control):
    """The library tokenizers with the steps that a pre-tokenizer's name means."""
    steps = tokenizers.pre_tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.BPE(
        {token: i for i, token in enumerate(tokens + control)}, merges,
        ignore_merges=pre == "llama-bpe"))
    whole = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|%s"
             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
    if pre in ("gpt-2", "smollm"):
        split = [steps.Digits(individual_digits=True)] * (pre == "smollm") + [
            steps.ByteLevel(add_prefix_space=False)]
    else:
        digits = "\\p{N}{1,3}" if pre == "llama-bpe" else "\\p{N}"
        split = [steps.Split(tokenizers.Regex(whole % digits), "isolated"),
                 steps.ByteLevel(add_prefix_space=False, use_regex=False)]
    if pre == "qwen2":
        made.normalizer = tokenizers.normalizers.NFC()
    made.pre_tokenizer = steps.Sequence(split)
    made.add_special_tokens(control)
    return made


def put_keys(out, config, arch, pre):
    gpt2 = arch == "gpt2"
    out.add_name("tiny")
    out.add_context_length(config.max_position_embeddings)
    out.add_embedding_length(config.hidden_size)
    out.add_block_count(config.num_hidden_layers)
    out.add_feed_forward_length(4 * config.n_embd if gpt2
                                else config.intermediate_size)
    out.add_head_count(config.num_attention_heads)
    if gpt2:
        out.add_layer_norm_eps(config.layer_norm_epsilon)
    else:
        out.add_head_count_kv(config.num_key_value_heads)
        out.add_layer_norm_rms_eps(config.rms_norm_eps)
        out.add_rope_freq_base(config.rope_parameters["rope_theta"])
        out.add_rope_dimension_count(head_size(config))
        if arch == "qwen3":
            out.add_key_length(config.head_dim)
            out.add_value_length(config.head_dim)
    tokens, merges, control = vocabulary()
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre(pre)
    out.add_token_list(tokens + control)
    out.add_token_types([1] * len(tokens) + [3] * len(control))
    out.add_token_merges([f"{a} {b}" for a, b in merges])
    out.add_bos_token_id(273)
    out.add_eos_token_id(274)
    out.add_add_bos_token(False)
    out.add_chat_template(CHATML)


def head_size(config):
    return getattr(config, "head_dim", None) or (
        config.hidden_size // config.num_attention_heads)


def factors(config):
    """What a frequency of llama 3.1 is divided by."""
    head = head_size(config)
    plain = 10000.0 ** -(torch.arange(0, head, 2).double() / head)
    scaled, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](
        config, "cpu")
    return (plain / scaled).float().numpy()


def write(root, name, seed):
    kind, arguments, pre, types = MODELS[name]
    config = getattr(transformers, kind)(**arguments)
    arch = config.model_type
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    model = checkpoints.make(config, torch.float32, seed)
    out = gguf.GGUFWriter(root / f"{name}.gguf", arch)
    put_keys(out, config, arch, pre)
    weights = model.state_dict()
    for key in list(weights):
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        to = name_in_file(key)
        weight = weights[key].numpy()
        turned = arch == "gpt2" and weight.ndim == 2 and "blk" in to
        heads = 0
        if arch == "llama" and ("attn_q." in to or "attn_k." in to):
            heads = (config.num_attention_heads if "attn_q." in to
                     else config.num_key_value_heads)
        weight = permuted(weight, heads) if heads else weight
        weight = np.ascontiguousarray(weight.T if turned else weight)
        of = next((t for part, t in types.items() if part in to), Type.F32)
        of = of if weight.ndim == 2 else Type.F32
        data, numbers = stored(of, weight, chance)
        out.add_tensor(to, data, raw_dtype=of)
        numbers = numbers.T if turned else numbers
        numbers = unpermuted(numbers, heads) if heads else numbers
        weights[key] = torch.from_numpy(numbers.copy())
    if "types" == name:
        out.add_tensor("rope_freqs.weight", factors(config))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    model.load_state_dict(weights, strict=False)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        ids = torch.randint(0, config.vocab_size, (checkpoints.TOKENS,),
                            generator=torch.Generator().manual_seed(seed))
        logits32, _ = checkpoints.run(folder, torch.float32, ids)
        with checkpoints.all_float64(config.model_type):
            logits64, _ = checkpoints.run(folder, torch.float64, ids)
    tensors = {"ids": ids, "logits32": logits32, "logits64": logits64}
    made = oracle(pre, *vocabulary())
    for i, text in enumerate(TEXTS):
        tensors[f"text.{i}"] = torch.tensor(list(text.encode()),
                                            dtype=torch.uint8)
        tensors[f"text_ids.{i}"] = torch.tensor(made.encode(text).ids)
    save_file(tensors, root / f"{name}.safetensors")
    print(f"{name}: {(root / f'{name}.gguf').stat().st_size} bytes, logits std "
          f"{logits64.std():.2f}, float32 off by "
          f"{(logits32 - logits64).abs().max():.1e}", flush=True)


def write_blocks(path):
    chance = np.random.default_rng(7)
    tensors = {}
    def add(kinds):
        for kind in kinds:
            weight = chance.normal(size=(3, 96)).astype(np.float32)
            data = gguf.quants.quantize(weight, kind)
            tensors[kind.name] = (data, gguf.quants.dequantize(data, kind))

    add((Type.Q4_0, Type.Q4_1, Type.Q8_0))
    for kind in K_BYTES:
        data = random_blocks(kind, 3, 512, chance)
        tensors[kind.name] = (data, gguf.quants.dequantize(data, kind))
    add((Type.Q5_0, Type.Q5_1))  # last, so that the others stay the same
    save_file({f"{name}.{part}": torch.from_numpy(np.ascontiguousarray(value))
               for name, (data, numbers) in tensors.items()
               for part, value in (("stored", data), ("numbers", numbers))},
              path)


def main(arguments):
    here = pathlib.Path(__file__).resolve().parent / "gguf"
    root = pathlib.Path(arguments[0]) if arguments else here
    root.mkdir(parents=True, exist_ok=True)
    write_blocks(root / "blocks.safetensors")
    for seed, name in enumerate(MODELS):
        write(root, name, seed)


if __name__ == "__main__":
    main(sys.argv[1:])
