"""That the files of eagle.py are right in themselves, and that a mistake shows:
each mistake is made alone and must move a logit."""

import math

import torch

from eagle_heads import TARGET, TOKENS
from eagle_oracle import chain, pass_over, tree_at_once
from eagle_rounds import PARENTS, PATH, all_float64, round_of, tree_of

TOLERANCE = 1e-4  # of float32 from float64
VISIBLE = 0.1  # what a mistake moves at least


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
