"""made_for.json beside a drafter: for which target it was made (docs/formats.md).

By this file a preset of Banyan finds the drafters of the target at hand.
"""

import pathlib

from training.files import read_json, write_json

FILE = "made_for.json"
# Those that read the target's states work for no other sizes.
OF_STATES = ("medusa", "eagle1", "eagle2", "eagle3", "pass")
START, PRIME, MASK = 0xcbf29ce484222325, 0x100000001b3, (1 << 64) - 1


def drafter_of(recipe, options):
    """What presets call the drafter that a recipe makes."""
    if recipe == "eagle":
        return f"eagle{options.version}"
    return {"distill": "small_model", "boost": "boosted", "medusa": "medusa",
            "lookahead": "pass"}[recipe]


def name_of_tokens(tokenizer):
    """The name of a tokenizer's tokens: FNV-1a of each number's token, as tokenizer.json
    writes it, with a byte ff after it and a byte fe in the place of none."""
    vocabulary = dict(tokenizer["model"]["vocab"])
    vocabulary.update({token["content"]: token["id"]
                       for token in tokenizer.get("added_tokens", [])})
    texts = {number: text for text, number in vocabulary.items()}
    name = START
    for number in range(max(texts) + 1):
        text = texts[number].encode() if number in texts else b"\xfe"
        for byte in text + b"\xff":
            name = (name ^ byte) * PRIME & MASK
    return f"{name:016x}"


def write(directory, target, drafter):
    """Writes the file into the drafter's folder `directory`."""
    target = pathlib.Path(target)
    made_for = {"drafter": drafter, "target": target.resolve().name, "tokenizer": ""}
    if (target / "tokenizer.json").exists():
        made_for["tokenizer"] = name_of_tokens(read_json(target / "tokenizer.json"))
    if drafter in OF_STATES:
        config = read_json(target / "config.json")
        made_for["hidden_size"] = config.get("hidden_size", config.get("n_embd"))
        made_for["layers"] = config.get("num_hidden_layers", config.get("n_layer"))
    write_json(pathlib.Path(directory) / FILE, made_for)
