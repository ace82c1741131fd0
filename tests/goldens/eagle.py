#!/usr/bin/env python3
"""Writes or checks tests/goldens/eagle: a tiny random target, drafting heads of
every layout that read its hidden states, and what PyTorch makes of them.

  build/training-python/bin/python tests/goldens/eagle.py [--check] [FOLDER]

`scripts/train --setup` makes that Python; torch and safetensors are all it
needs. --check computes from the weights that are stored, writes nothing, and
says what is not as computed.

target/ is a Llama of 9 layers, without a tokenizer. Each other folder holds a
head as its layout stores it, config.json and model.safetensors, and
expected.safetensors. A head reads pairs: pair i is (token i + 1, features of
the target at token i), at position i, and its logits are of token i + 2. What
it feeds back stands for the target's features at token i + 1.

The text that is committed, n tokens, and all its pairs. Its last token is the
root of the tree; the root's pair is the last whose features are the target's:

  ids             I64 [n]
  taps            I64 [t]  where features are taken: after so many layers (0:
                  the embedding), before the final norm; -1: after it
  features*       [n-1, t, target's width]  the target's, at tokens 0 to n-2
  hidden*         [n-1, head's width]  what every pair feeds back
  logits*         [n-1, head's vocabulary]
  logits_target*  [n-1, target's vocabulary]  the same by the target's ids,
                  minus infinity where the head has no such token

A tree of m nodes below the root. The pair of a node is (its token, what its
parent's pair feeds back), one position after its parent's. It attends to all
pairs of the text, to those of its own ancestors in the tree, and to itself:

  tree_tokens     I64 [m]  the target's ids
  tree_parents    I64 [m]  nodes of this tree; -1: the root
  tree_hidden*, tree_logits*, tree_logits_target*  [m, ...]

The round ends with a = 0, 1 or 2 tokens of a path accepted and one token more.
The head then reads the whole text afresh, the target's features everywhere:

  path            I64 [2]  the nodes that are accepted
  after{a}_ids    I64 [n+a+1]
  after{a}_features*  [a+1, t, target's width]  at tokens n-1 to n-1+a
  after{a}_hidden*, after{a}_logits*  of its last pair, n-1+a

* is 32 and 64: computed in float32 and in float64, both from the stored
weights. Every node of the tree is computed alone, as the end of a text; that a
tree in passes of one level comes out the same is then checked.

The heads are made so that a mistake shows, and that it does is checked, too:
every norm left out, every bias, orders swapped, taps moved, ids for offsets and
so on are computed, one at a time, and must move a logit by VISIBLE.
"""

import argparse
import contextlib
import json
import math
import pathlib
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode

from eagle_oracle import (Head, Weights, chain, pass_over, read_head,
                          read_target, rules_of, shape_of, tree_alone,
                          tree_at_once)

TOKENS = 14
TOLERANCE = 1e-4  # of float32 from float64
VISIBLE = 0.1  # what a mistake moves at least

# The node that each node hangs on, and which of its parent's best tokens it is:
# three below the root, siblings on three levels, one node on the fourth. The
# accepted path is not that of the first nodes.
PARENTS = (-1, -1, -1, 0, 2, 2, 3, 5, 5, 8)
RANKS = (0, 1, 2, 0, 0, 1, 0, 0, 1, 0)
PATH = (2, 5)

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


def tree_of(head, ids, features, tokens=None):
    """The tree with these tokens, or with the best that parents propose."""
    def choose(node, proposed):
        return proposed[RANKS[node]] if tokens is None else tokens[node]
    return tree_alone(head, ids, features, PARENTS, choose)


def round_of(head, ids, tokens=None):
    """What expected.safetensors holds of the text and the tree."""
    features = head.features(ids)[:-1]
    fed, logits = pass_over(head, ids, features)
    tokens, tree_fed, tree_logits = tree_of(head, ids, features, tokens)
    return tokens, dict(
        features=features, hidden=fed, logits=logits,
        logits_target=head.by_target(logits), tree_hidden=tree_fed,
        tree_logits=tree_logits, tree_logits_target=head.by_target(tree_logits))


def after(head, ids):
    """What it holds of a text that has become longer."""
    features = head.features(ids)[:-1]
    fed, logits = pass_over(head, ids, features)
    return dict(features=features[TOKENS - 1:], hidden=fed[-1],
                logits=logits[-1])


def accepted_text(target, ids, tokens, count):
    """The text, `count` tokens of the path, and what the target says then that
    is not in the tree."""
    ids = torch.cat([ids, tokens[list(PATH[:count])]])
    last = PATH[count - 1] if count else -1
    proposed = [tokens[i] for i, parent in enumerate(PARENTS) if parent == last]
    best = target.logits(ids)[-1].argsort(descending=True)
    return torch.cat([ids, next(x for x in best if x not in proposed)[None]])


class NoFloat32(TorchDispatchMode):
    """An error where an operation gives float32."""

    def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dtype == torch.float32:
            raise AssertionError(f"{func} gives float32")
        return result


@contextlib.contextmanager
def all_float64():
    torch.set_default_dtype(torch.float64)
    try:
        with NoFloat32():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def expected(root, name):
    """(expected.safetensors, the head in float64)"""
    ids = text_of(name)
    head32, head64 = (
        read_head(root / name, read_target(root / "target", dtype), dtype)
        for dtype in (torch.float32, torch.float64))
    with all_float64():
        tokens, _ = round_of(head64, ids)
        texts = [accepted_text(head64.target, ids, tokens, a)
                 for a in range(len(PATH) + 1)]
    tensors = dict(ids=ids, taps=torch.tensor(head64.rules.taps),
                   tree_tokens=tokens, tree_parents=torch.tensor(PARENTS),
                   path=torch.tensor(PATH))
    for a, text in enumerate(texts):
        tensors[f"after{a}_ids"] = text
    for head, digits in ((head32, "32"), (head64, "64")):
        with all_float64() if digits == "64" else contextlib.nullcontext():
            _, found = round_of(head, ids, tokens)
            for a, text in enumerate(texts):
                found.update({f"after{a}_{key}": value
                              for key, value in after(head, text).items()})
        for key, value in found.items():
            tensors[key + digits] = value.contiguous()
    return tensors, head64


# Mistakes.


def apart(one, other):
    """By how much logits differ; infinite where a token is in one alone."""
    both = torch.isfinite(one) & torch.isfinite(other)
    if not torch.equal(torch.isfinite(one), torch.isfinite(other)):
        return math.inf
    return (one - other)[both].abs().max().item()


def norms_of(head):
    return [name.removesuffix(".weight")
            for name, tensor in head.weights.tensors.items()
            if tensor.dim() == 1 and name.endswith(".weight")]


def biases_of(head):
    return [name for name in head.weights.tensors if name.endswith(".bias")]


def swapped(head, one, other):
    return {"tensors": {one: head.weights[other], other: head.weights[one]}}


def mistakes(head):
    """(what, the head with it) for each that concerns such a head."""
    rules, shape = head.rules, head.weights.shape
    tensors = head.weights.tensors
    found = []

    def add(what, **change):
        found.append((what, head.turned(**change)))

    for norm in norms_of(head):
        add(f"{norm} left out", skipped=(norm,))
        one = torch.ones_like(tensors[norm + ".weight"])
        add(f"{norm} unweighted", tensors={norm + ".weight": one})
    for bias in biases_of(head):
        add(f"{bias} left out", tensors={bias: tensors[bias] * 0})
    deep = head.target.layers
    for by in (-1, 1):
        if rules.taps == (-1,):
            taps = (deep if by > 0 else deep - 1,)
        else:
            taps = tuple(tap + by for tap in rules.taps)
        if min(taps) >= 0:
            add(f"taps {taps}", taps=taps)
    if len(rules.taps) > 1:
        add("taps backwards", taps=rules.taps[::-1])
        for i, tap in enumerate(rules.taps):
            moved = list(rules.taps)
            moved[i] = tap + 1
            add(f"tap {i} late", taps=tuple(moved))
        add("last tap after the final norm", taps=(*rules.taps[:-1], -1))
    add("inputs swapped", embedding_first=not rules.embedding_first)
    theirs = head.target.weights.shape
    add("rotary base", shape=dict(theta=theirs.theta if theirs.theta
                                  != shape.theta else 10000.0))
    if theirs.epsilon != shape.epsilon:
        add("epsilon of the target", shape=dict(epsilon=theirs.epsilon))
    add("rotary neighbours", shape=dict(pairs="neighbours"))
    if 1 < shape.kv_heads < shape.heads:
        add("groups interleaved", shape=dict(groups="interleaved"))
    width = tensors[rules.first + "post_attention_layernorm.weight"].shape[0]
    if shape.head_dim != width // shape.heads:
        add("scale by width / heads",
            shape=dict(scale=(width / shape.heads) ** -0.5))
    if rules.kind == "eagle1":
        add("a norm before attention", eagle1="input norm")
        add("the target's final norm", eagle1="final norm")
        add("residual past fc", eagle1="residual")
    else:
        add("norm fed back or not", norm_fed_back=not rules.norm_fed_back)
        add("no norm for logits", norms_for_logits=0)
        add("two norms for logits", norms_for_logits=2)
    if rules.kind == "eagle3":
        add("norm before residual or not",
            norm_before_residual=not rules.norm_before_residual)
        add("norms of the inputs swapped",
            **swapped(head, rules.first + "hidden_norm.weight",
                      rules.first + "input_layernorm.weight"))
        if rules.layers > 1:
            add("one layer", layers=1)
        if rules.fc_norm:
            add("norms of taps swapped", **swapped(
                head, "fc_norm.0.weight", "fc_norm.2.weight"))
            add("taps normed together", fc_norm=False, norm_before_fc=True,
                tensors={"input_norm.weight": torch.cat(
                    [tensors[f"fc_norm.{i}.weight"]
                     for i in range(len(rules.taps))])})
        if rules.norm_before_fc:
            each = tensors["input_norm.weight"].chunk(len(rules.taps))
            add("taps normed each", fc_norm=True, norm_before_fc=False,
                tensors={f"fc_norm.{i}.weight": weight
                         for i, weight in enumerate(each)})
    if rules.kind == "mtp":
        add("zero embedding at 0 or not", zero_first=not rules.zero_first)
        add("norms of the inputs swapped",
            **swapped(head, rules.first + "hidden_layernorm.weight",
                      rules.first + "token_layernorm.weight"))
    if (rules.embedding == "stored" and
            not torch.equal(tensors["embed_tokens.weight"],
                            head.target.weights["model.embed_tokens.weight"])
            and width == TARGET["hidden_size"]):
        add("the target's embedding", embedding="target")
    if rules.output == "stored" and width == TARGET["hidden_size"]:
        add("the target's output matrix", output="target")
    if "d2t" in tensors:
        add("ids for offsets", offsets=False)
        if rules.output == "target":
            add("the first rows of the target", rows="first")
    return found


def moves(head, ids, tensors):
    """(what, by how much it moves a logit) for each mistake."""
    tokens = tensors["tree_tokens"]
    right = (tensors["logits_target64"], tensors["tree_logits_target64"])
    for what, wrong in mistakes(head):
        _, found = round_of(wrong, ids, tokens)
        yield what, max(apart(found["logits_target"], right[0]),
                        apart(found["tree_logits_target"], right[1]))
    # Pairs.
    features = head.features(ids)
    entered = head.enter(features)
    _, logits = head.run(ids[1:], entered[1:], *chain(len(ids) - 1))
    yield "features of the token itself", apart(logits, tensors["logits64"])
    _, logits = head.run(ids, torch.cat([entered[:1] * 0, entered[:-1]]),
                         *chain(len(ids)))
    yield "a pair for token 0", apart(logits[1:], tensors["logits64"])
    # The tree.
    for what, change in (("nodes see all before them", dict(seen="all")),
                         ("nodes one position late", dict(place="one late")),
                         ("nodes at positions in order", dict(place="order")),
                         ("all nodes fed by the root", dict(fed_by="root"))):
        _, logits = tree_at_once(head, ids, features[:-1], PARENTS, tokens,
                                 **change)
        yield what, apart(logits, tensors["tree_logits64"])
    if "d2t" in head.weights.tensors:
        own = torch.searchsorted(head.tokens(), tokens)
        _, _, logits = tree_of(head, ids, features[:-1], own)
        yield "the head's ids embedded", apart(logits, tensors["tree_logits64"])
    # After it.
    for a in range(len(PATH) + 1):
        text, right = tensors[f"after{a}_ids"], tensors[f"after{a}_logits64"]
        pairs = head.enter(head.features(text)[:-1])
        true = pairs[:TOKENS - 1]
        kept = true
        for _ in range(a + 1):
            fed, logits = head.run(text[1:len(kept) + 1], kept,
                                   *chain(len(kept)))
            kept = torch.cat([kept, fed[-1:]])
        _, logits = head.run(text[1:], kept, *chain(len(kept)))
        yield f"after {a}: drafted features kept", apart(logits[-1], right)
        if a:
            positions, mask = chain(len(pairs))
            mask[-1, TOKENS - 1:-1] = False
            _, logits = head.run(text[1:], pairs, positions, mask)
            yield f"after {a}: accepted tokens not read", apart(logits[-1],
                                                                right)


def concentration(laws):
    """How far attention is from uniform, from 0 to 1, over the rows that have
    four to choose from."""
    far = []
    for law in laws:
        for row in range(3, law.shape[1]):
            weights = law[:, row, :row + 1]
            far.append((weights - 1 / (row + 1)).clamp(min=0).sum(-1))
    return torch.cat(far).mean().item()


def prove(name, head, tensors):
    """That the files are right in themselves, and that mistakes would show."""
    off = 0.0
    for key in tensors:
        if key.endswith("64"):
            off = max(off, apart(tensors[key[:-2] + "32"].double(),
                                 tensors[key]))
    assert off < TOLERANCE, (name, off)
    if "t2d" in head.weights.tensors:
        assert not head.weights["t2d"][tensors["ids"]].all(), name
    spread = tensors["logits64"].std().item()
    assert spread > 1 and tensors["tree_logits64"].std() > 1, (name, spread)
    ids, tokens = tensors["ids"], tensors["tree_tokens"]
    with all_float64():
        features = head.features(ids)[:-1]
        fed, logits = tree_at_once(head, ids, features, PARENTS, tokens)
        assert apart(fed, tensors["tree_hidden64"]) < 1e-11, name
        assert apart(logits, tensors["tree_logits64"]) < 1e-11, name
        head.weights.attention.clear()
        pass_over(head, ids, features)
        sharp = concentration(head.weights.attention)
        assert sharp > 0.3, (name, sharp)
        moved = list(moves(head, ids, tensors))
    least = min(moved, key=lambda pair: pair[1])
    print(f"{name}: logits within {tensors['logits64'].min():.1f} and "
          f"{tensors['logits64'].max():.1f}, std {spread:.2f}, float32 off by "
          f"{off:.1e}, attention {sharp:.2f} from uniform, {len(moved)} "
          f"mistakes, the least moves {least[1]:.2f}")
    for what, by in moved:
        print(f"  {what}: {by:.3g}")
        assert by > VISIBLE, f"{name}: {what} moves {by}"


# Making them.


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


def prove_target():
    """The target computed here against transformers' (checkpoints.py)."""
    folder = pathlib.Path(__file__).resolve().parent / "checkpoints" / "llama"
    golden = load_file(folder / "logits.safetensors")
    target = read_target(folder, torch.float64)
    with all_float64():
        logits = target.logits(golden["ids"])
    off = apart(logits, golden["logits64"])
    assert off < 1e-10, off
    print(f"the Llama here is transformers', off by {off:.1e}")


def differing(tensors, stored):
    """The names that are not as computed."""
    for name in sorted({*tensors, *stored}):
        one, other = tensors.get(name), stored.get(name)
        if (one is None or other is None or one.dtype != other.dtype or
                one.shape != other.shape):
            yield name
        elif not one.is_floating_point():
            if not torch.equal(one, other):
                yield name
        elif apart(one, other) > (1e-10 if name.endswith("64") else TOLERANCE):
            yield name


def main(arguments):
    parser = argparse.ArgumentParser(
        description="Writes or checks tests/goldens/eagle.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent /
                        "eagle")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    prove_target()
    if not options.check:
        make(options.folder)
    wrong = []
    for name in HEADS:
        tensors, head = expected(options.folder, name)
        prove(name, head, tensors)
        path = options.folder / name / "expected.safetensors"
        if not options.check:
            save_file(tensors, path)
        else:
            wrong += [f"{name}: {key}"
                      for key in differing(tensors, load_file(path))]
    size = sum(f.stat().st_size for f in options.folder.rglob("*.*")
               if f.is_file())
    print("\n".join(["differ:", *wrong]) if wrong else
          f"as computed, {size} bytes in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
