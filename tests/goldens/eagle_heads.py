"""The target and the heads of eagle.py: their configurations, which key of each
decides what, and their random weights."""

import json
import math
import shutil

import torch
from safetensors.torch import save_file

from eagle_oracle import Head, Weights, read_target, rules_of, shape_of

TOKENS = 14  # of a text

TARGET = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", vocab_size=61,
    hidden_size=18, intermediate_size=26, num_hidden_layers=9,
    num_attention_heads=3, num_key_value_heads=1, head_dim=6,
    hidden_act="silu", max_position_embeddings=64, rms_norm_eps=1e-5,
    rope_theta=100.0, rope_scaling=None, attention_bias=False, mlp_bias=False,
    tie_word_embeddings=False, bos_token_id=1, eos_token_id=2,
    torch_dtype="bfloat16")
DTYPES = {"float32": torch.float32, "float16": torch.float16,
          "bfloat16": torch.bfloat16}

# Epsilon and the rotary base are the head's own, and told from the target's.
LAYER = dict(
    model_type="llama", vocab_size=61, hidden_size=18, intermediate_size=22,
    num_hidden_layers=1, num_attention_heads=3, num_key_value_heads=1,
    hidden_act="silu", max_position_embeddings=64, rms_norm_eps=0.02,
    rope_theta=30.0, attention_bias=False, mlp_bias=False,
    tie_word_embeddings=False)


def speculators(algorithm, architecture, layer, **more):
    """config.json as speculators writes it."""
    return dict(
        architectures=[architecture], speculators_model_type=algorithm,
        speculators_version="0.7.0",
        speculators_config=dict(
            algorithm=algorithm,
            proposal_methods=[dict(
                proposal_type="greedy", speculative_tokens=3,
                verifier_accept_k=1, accept_tolerance=0.0)],
            default_proposal_method="greedy",
            verifier=dict(name_or_path="target",
                          architectures=["LlamaForCausalLM"])),
        transformer_layer_config=layer, tie_word_embeddings=False,
        torch_dtype="bfloat16", **more)


def eagle3_speculators(taps, tokens, layer, **more):
    return speculators("eagle3", "Eagle3Speculator", layer, **{
        **dict(draft_vocab_size=tokens, eagle_aux_hidden_state_layer_ids=taps,
               norm_before_residual=False, norm_before_fc=False, fc_norm=False,
               norm_output=False, target_hidden_size=None,
               embed_requires_grad=False), **more})


# name -> (seed, config.json, how the embedding is stored: a "copy" of the
# target's, one of its "own" or none; whether an output matrix is stored). With
# another seed a mistake may not show: attention then passes it by.
HEADS = {
    # EAGLE-1 and -2. No key names them; `fc.weight` is [h, 2h], and `layers.0`
    # has no `input_layernorm` and no `norm` after it. `bias`, true where it is
    # absent, says whether there is `fc.bias`. `embed_tokens` is a copy of the
    # target's; the output matrix is the target's.
    "eagle1": (2, dict(
        LAYER, architectures=["LlamaForCausalLM"], num_key_value_heads=3,
        torch_dtype="bfloat16"), "copy", False),
    "eagle1_plain": (13, dict(
        LAYER, architectures=["LlamaForCausalLM"], bias=False,
        rope_theta=300.0, torch_dtype="float16"), None, False),
    # EAGLE-3 as its authors store it: `midlayer`. Without ids of layers, taps
    # are what enters layers 2, n / 2 and n - 3 of the target.
    # `draft_vocab_size` below `vocab_size`: `d2t` holds offsets, `t2d` flags.
    "eagle3_safeai": (21, dict(
        LAYER, architectures=["LlamaForCausalLMEagle3"], draft_vocab_size=23,
        torch_dtype="bfloat16"), None, True),
    # SpecForge and SGLang: `eagle_config` names layers by what leaves them.
    # `norm_output` (true where absent) is here whether `norm` comes before the
    # output matrix, and says nothing of what is fed back. `head_dim` is not
    # hidden_size / num_attention_heads; both vocabularies are one, so there is
    # neither `d2t` nor `t2d`.
    "eagle3_specforge": (38, dict(
        LAYER, architectures=["LlamaForCausalLMEagle3"], draft_vocab_size=61,
        num_attention_heads=6, num_key_value_heads=2, head_dim=10,
        rope_scaling=None, torch_dtype="float32", norm_output=True,
        eagle_config=dict(eagle_aux_hidden_state_layer_ids=[0, 4, 6],
                          use_aux_hidden_state=True)), None, True),
    # speculators: `speculators_model_type`, the layer in
    # `transformer_layer_config` and its tensors in `layers.0`; ids beside them
    # name layers by what enters them. `norm_before_residual`: the residual is
    # what leaves `hidden_norm`.
    "eagle3_speculators": (42, eagle3_speculators(
        [1, 4, 7], 27, dict(LAYER, num_attention_heads=6,
                            num_key_value_heads=2, head_dim=6),
        norm_before_residual=True, embed_requires_grad=True), "own", True),
    # `fc_norm`: a norm for each tap. `norm_output`: here, what leaves `norm` is
    # fed back. `num_hidden_layers` 2: the second layer is an ordinary one.
    "eagle31_fc_norm": (51, eagle3_speculators(
        [2, 5, 7], 31, {**{key: value for key, value in LAYER.items()
                           if key != "rope_theta"},
                        "num_hidden_layers": 2, "head_dim": 6,
                        "rope_parameters": dict(rope_type="default",
                                                rope_theta=30.0)},
        fc_norm=True, norm_output=True), None, True),
    # `norm_before_fc`: one norm, `input_norm`, on all taps together.
    # `target_hidden_size` is not hidden_size: embedding and output matrix are
    # the head's own.
    "eagle31_input_norm": (63, eagle3_speculators(
        [1, 3, 6], 33, dict(LAYER, hidden_size=15, head_dim=10),
        norm_before_fc=True, norm_before_residual=True, target_hidden_size=18),
        "own", True),
    # Four ids, four taps. No `lm_head`: the target's rows that `t2d` flags.
    "eagle3_four_taps": (77, eagle3_speculators(
        [0, 3, 5, 8], 25, dict(LAYER, head_dim=6)), None, False),
    # MTP as in MiMo, whose own checkpoint holds it: `model_type` and
    # `model.mtp_layers.0`. The layer is that of Qwen2: q, k and v have biases.
    # input_proj reads [hidden, embedding]; the embedding is zero at position 0.
    # FastMTP stores its heads in the same way.
    "mtp_mimo": (85, dict(
        TARGET, architectures=["MiMoForCausalLM"], model_type="mimo",
        attention_bias=True, num_nextn_predict_layers=1), None, False),
    # MTP of speculators: `speculators_model_type` "mtp" and `mtp_layers.0`. The
    # names are MiMo's, but input_proj is `mtp.fc` of Qwen3-Next, unchanged: it
    # reads [embedding, hidden], and nothing is zero. transformer_layer_config
    # is the target's; speculators itself has this for Qwen3's family alone.
    "mtp_fast": (93, speculators(
        "mtp", "MTPDraftModel",
        {key: value for key, value in TARGET.items()
         if key not in ("architectures", "torch_dtype")},
        num_nextn_predict_layers=1), None, False),
}


def text_of(name):
    chance = torch.Generator().manual_seed(1000 + HEADS[name][0])
    return torch.randint(0, TARGET["vocab_size"], (TOKENS,), generator=chance)


def draw(shape, chance, scale):
    return torch.randn(shape, generator=chance) * scale


def norm_weight(width, chance):
    return 1 + draw((width,), chance, 0.4)


def layer_tensors(prefix, layer, reads, chance, norms, bias=False, gain=1.0):
    """The tensors of a layer whose attention reads `reads` values; what it adds
    is as large as `gain`."""
    shape, width = shape_of(layer), layer["hidden_size"]
    inner = layer["intermediate_size"]
    tensors = {}
    for name, rows, columns, scale in (
            ("self_attn.q_proj", shape.heads * shape.head_dim, reads, 1.6),
            ("self_attn.k_proj", shape.kv_heads * shape.head_dim, reads, 1.6),
            ("self_attn.v_proj", shape.kv_heads * shape.head_dim, reads, 1.0),
            ("self_attn.o_proj", width, shape.heads * shape.head_dim,
             1.2 * gain),
            ("mlp.gate_proj", inner, width, 1.3),
            ("mlp.up_proj", inner, width, 1.3),
            ("mlp.down_proj", width, inner, 1.3 * gain)):
        tensors[f"{prefix}{name}.weight"] = draw((rows, columns), chance,
                                                 scale / math.sqrt(columns))
        if bias and name[-6:] in ("q_proj", "k_proj", "v_proj"):
            tensors[f"{prefix}{name}.bias"] = draw((rows,), chance, 0.5)
    for name in norms:
        tensors[f"{prefix}{name}.weight"] = norm_weight(width, chance)
    return tensors


ORDINARY = ("input_layernorm", "post_attention_layernorm")


def embedding_like(rows, width, chance):
    return draw((rows, width), chance, 2 / math.sqrt(width))


def target_tensors(config, chance):
    vocabulary, width = config["vocab_size"], config["hidden_size"]
    tensors = {
        "model.embed_tokens.weight": embedding_like(vocabulary, width, chance),
        "model.norm.weight": norm_weight(width, chance),
        "lm_head.weight": embedding_like(vocabulary, width, chance)}
    for i in range(config["num_hidden_layers"]):
        tensors.update(layer_tensors(f"model.layers.{i}.", config, width,
                                     chance, ORDINARY))
    return tensors


def vocabulary_maps(tokens, vocabulary, chance):
    """d2t and t2d of a vocabulary of `tokens`, none of them the first one."""
    kept = torch.randperm(vocabulary - 1, generator=chance)[:tokens] + 1
    kept = kept.sort().values
    flags = torch.zeros(vocabulary, dtype=torch.bool)
    flags[kept] = True
    return {"d2t": kept - torch.arange(tokens), "t2d": flags}


def head_tensors(name, target, chance):
    _, config, embedding, output = HEADS[name]
    layer = config.get("transformer_layer_config", config)
    width, vocabulary = layer["hidden_size"], layer["vocab_size"]
    tensors = {}
    if name.startswith("mtp"):
        prefix = ("model." if name == "mtp_mimo" else "") + "mtp_layers.0."
        tensors.update(layer_tensors(
            prefix, layer, width, chance,
            (*ORDINARY, "token_layernorm", "hidden_layernorm",
             "final_layernorm"), layer["attention_bias"]))
        tensors[prefix + "input_proj.weight"] = draw(
            (width, 2 * width), chance, 1.3 / math.sqrt(2 * width))
    elif name.startswith("eagle1"):
        tensors.update(layer_tensors("layers.0.", layer, width, chance,
                                     ("post_attention_layernorm",), gain=0.8))
        tensors["fc.weight"] = draw((width, 2 * width), chance,
                                    1 / math.sqrt(2 * width))
        if config.get("bias", True):
            tensors["fc.bias"] = draw((width,), chance, 0.5)
    else:
        wrapped = "speculators_model_type" in config
        first = "layers.0." if wrapped else "midlayer."
        tensors.update(layer_tensors(first, layer, 2 * width, chance,
                                     (*ORDINARY, "hidden_norm")))
        for i in range(1, layer["num_hidden_layers"]):
            tensors.update(layer_tensors(f"layers.{i}.", layer, width, chance,
                                         ORDINARY))
        tensors["norm.weight"] = norm_weight(width, chance)
        tokens = config["draft_vocab_size"]
        if tokens < vocabulary:
            tensors.update(vocabulary_maps(tokens, vocabulary, chance))
        if output:
            tensors["lm_head.weight"] = embedding_like(tokens, width, chance)
        tensors.update(fc_tensors(config, layer, target, chance, name))
    if embedding == "copy":
        tensors["embed_tokens.weight"] = target.weights[
            "model.embed_tokens.weight"]
    elif embedding == "own":
        tensors["embed_tokens.weight"] = embedding_like(vocabulary, width,
                                                        chance)
    return tensors


def fc_tensors(config, layer, target, chance, name):
    """What leads from taps to the head's width, so scaled that it is about as
    large as what the layer adds to it."""
    ids = (config.get("eagle_aux_hidden_state_layer_ids") or
           config.get("eagle_config", {}).get(
               "eagle_aux_hidden_state_layer_ids") or (0, 0, 0))
    taps, wide = len(ids), TARGET["hidden_size"]
    tensors = {"fc.weight": draw((layer["hidden_size"], taps * wide), chance,
                                 1 / math.sqrt(taps * wide))}
    if config.get("fc_norm"):
        for i in range(taps):
            tensors[f"fc_norm.{i}.weight"] = norm_weight(wide, chance)
    if config.get("norm_before_fc"):
        tensors["input_norm.weight"] = norm_weight(taps * wide, chance)
    head = Head(Weights(tensors, shape_of(layer)),
                rules_of(config, {**tensors, "norm.weight": None},
                         target.layers), target)
    entered = head.enter(head.features(text_of(name)))
    tensors["fc.weight"] *= 1.2 / entered.std()
    return tensors


def write(folder, config, tensors):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    dtype = DTYPES[config["torch_dtype"]]
    save_file({name: (tensor.to(dtype) if tensor.is_floating_point()
                      else tensor).contiguous()
               for name, tensor in tensors.items()},
              folder / "model.safetensors", {"format": "pt"})


def make(root):
    write(root / "target", TARGET,
          target_tensors(TARGET, torch.Generator().manual_seed(0)))
    target = read_target(root / "target", torch.float32)
    for name, (seed, config, _, _) in HEADS.items():
        chance = torch.Generator().manual_seed(seed)
        write(root / name, config, head_tensors(name, target, chance))
