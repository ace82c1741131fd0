"""The layouts that EAGLE heads are published in: which one a head has, and the
same head in another one (docs/formats.md tells what each says).

An EAGLE-3 head in the names of SafeAILab, SpecForge and SGLang (`safeai`) and
one of vLLM's speculators are one network: the layer is called `midlayer` or
`layers.0`, its sizes stand beside the other keys or in a section, and the
target's layers are counted by what leaves them or by what enters them. Each has
flags that the other lacks; a head that needs one is refused by its name.

Multi-token prediction stays in the layout it has: MiMo's names mean that the
first pair has no embedding, those of the speculators that it has one, and no
key says otherwise.
"""

from training.errors import UserError

SAFEAI, SPECULATORS, MIMO, FIRST = "safeai", "speculators", "mimo", "eagle1"
LAYOUTS = (SAFEAI, SPECULATORS, MIMO)

TAPS = "eagle_aux_hidden_state_layer_ids"
SECTION = "transformer_layer_config"
# What stands beside the section, of all that is not the speculators' own.
BESIDE = ("draft_vocab_size", "target_hidden_size", "target_coordinates",
          "grown_from", "torch_dtype", "dtype", "tie_word_embeddings")
# What speculators can say and the others cannot.
FLAGS = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")


def is_eagle(tensors):
    return any(name == "fc.weight" or name.endswith(".input_proj.weight")
               for name in tensors)


def layout_of(config, tensors):
    """The name of the layout, as drafters/heads/eagle/layouts.cc tells them apart."""
    if config.get("speculators_model_type"):
        return SPECULATORS
    if "midlayer.self_attn.q_proj.weight" in tensors:
        return SAFEAI
    if any(name.endswith(".input_proj.weight") for name in tensors):
        return MIMO
    return FIRST


def in_layout(layout, config, tensors, source):
    """The head's config.json and tensors in that layout; `source` is named in
    errors."""
    own = layout_of(config, tensors)
    if own == layout:
        return config, tensors
    if (own, layout) == (SAFEAI, SPECULATORS):
        return _to_speculators(config, source), _renamed(
            tensors, "midlayer.", "layers.0.")
    if (config.get("speculators_model_type"), layout) == ("eagle3", SAFEAI):
        return _to_safeai(config, source), _renamed(
            tensors, "layers.0.", "midlayer.")
    if own == MIMO or config.get("speculators_model_type") == "mtp":
        raise UserError(
            f"{source}: a head of multi-token prediction cannot change its "
            "layout: in MiMo's the first pair has no embedding, in the "
            "speculators' it has one, and no key says otherwise")
    raise UserError(f"{source}: a head in the layout {own!r} has no form in "
                    f"the layout {layout!r}")


def _renamed(tensors, old, new):
    return {(new + name.removeprefix(old) if name.startswith(old) else name):
            tensor for name, tensor in tensors.items()}


def _refuse(source, key, found, layout):
    raise UserError(f"{source}: {key} is {found}, which the layout {layout!r} "
                    "cannot say")


def _to_speculators(config, source):
    config = dict(config)
    # Here it says whether there is a norm before the output matrix; there, what
    # is fed back.
    if not config.pop("norm_output", True):
        _refuse(source, "norm_output", False, SPECULATORS)
    taps = (config.pop("eagle_config", None) or {}).get(TAPS)
    config.pop("architectures", None)
    beside = {key: config.pop(key) for key in BESIDE if key in config}
    return {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "speculators_version": "0.7.0",
        "speculators_config": {
            "algorithm": "eagle3",
            "proposal_methods": [{
                "proposal_type": "greedy", "speculative_tokens": 3,
                "verifier_accept_k": 1, "accept_tolerance": 0.0}],
            "default_proposal_method": "greedy",
            "verifier": {"name_or_path": None, "architectures": []}},
        **beside,
        **({} if taps is None else {TAPS: [tap + 1 for tap in taps]}),
        **{flag: False for flag in FLAGS},
        SECTION: config}


def _to_safeai(config, source):
    config = dict(config)
    for flag in FLAGS:
        if config.pop(flag, False):
            _refuse(source, flag, True, SAFEAI)
    layer = config.pop(SECTION, None) or {}
    layers = layer.get("num_hidden_layers", 1)
    if layers != 1:
        _refuse(source, "num_hidden_layers", layers, SAFEAI)
    taps = config.pop(TAPS, None)
    if taps is not None and min(taps, default=0) < 1:
        _refuse(source, TAPS, taps, SAFEAI)
    config = {key: value for key, value in config.items()
              if not key.startswith("speculators_")}
    if taps is not None:
        config["eagle_config"] = {TAPS: [tap - 1 for tap in taps],
                                  "use_aux_hidden_state": True}
    return {**layer, **config, "architectures": ["LlamaForCausalLMEagle3"]}
