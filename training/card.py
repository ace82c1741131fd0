"""card: writes a model's README.md from the files of its training and measurement.

Every figure is read from training.json, corpus.json and the file that `measure`
wrote. `--about` says what the training text is and who owns it.
"""

import pathlib

from training.corpus import describe
from training.errors import UserError
from training.files import read_json, write_text
from training.measure import TEMPERATURES

TITLES = {"pretrain": "A model trained from scratch.",
          "distill": "A drafter distilled from {target}.",
          "boost": "A drafter for {target}, boosted on what {before} miss.",
          "medusa": "Medusa heads on {target}.",
          "eagle": "An EAGLE{version} head for {target}.",
          "lookahead": "Look-ahead embeddings (PaSS) for {target}."}


def add_arguments(parser):
    parser.add_argument("--model", required=True, metavar="DIR",
                        help="the directory to write the card to")
    parser.add_argument("--measured", required=True, metavar="FILE",
                        help="what `measure` wrote")
    parser.add_argument("--corpus", required=True, metavar="DIR")
    parser.add_argument("--about", required=True, metavar="TEXT",
                        help="what the training text is, and who owns it")
    parser.add_argument("--made-by", default="shipped", metavar="RECIPE",
                        help="the recipe that reproduces the model "
                        "(default: %(default)s)")
    parser.add_argument("--target-name", metavar="NAME",
                        help="the target's name (default: that of its directory)")
    parser.add_argument("--note", default="", metavar="TEXT",
                        help="further text on the model")
    parser.add_argument("--stages", nargs="*", default=[], metavar="DIR",
                        help="directories of the runs before the last one")


def run(options):
    folder = pathlib.Path(options.model)
    measured = read_json(options.measured)
    training = read_json(folder / "training.json")
    if training["recipe"] not in TITLES:
        raise UserError(f"{folder / 'training.json'}: recipe: expected one of "
                        f"{', '.join(TITLES)}, found {training['recipe']!r}")
    runs = [read_json(pathlib.Path(stage) / "training.json")
            for stage in options.stages] + [training]
    note = [options.note, ""] if options.note else []
    lines = [f"# {folder.name}", "",
             _title(folder, training, options.target_name), "", *note,
             f"{training['parameters']:,} parameters.", "",
             "## Data", "", options.about,
             _corpus(describe(options.corpus)), "", "## Training", ""]
    for stage in runs:
        lines += _stage(stage)
    by_directory = bool(describe(options.corpus)["test_prefixes"])
    lines += ["## Measured", ""] + _measured(folder.name, training, measured,
                                             by_directory)
    lines += ["", "Made and measured by the recipes in `training/`; "
              f"`scripts/train {options.made_by}` reproduces this model.", ""]
    write_text(folder / "README.md", "\n".join(lines))
    print(folder / "README.md")


def _words(training, name):
    """Returns the values of an option of the command, as base names."""
    words = training["command"].split()
    if f"--{name}" not in words:
        return []
    values = []
    for word in words[words.index(f"--{name}") + 1:]:
        if word.startswith("--"):
            break
        values.append(f"`{pathlib.Path(word).name}`")
    return values


def _title(folder, training, target):
    return TITLES[training["recipe"]].format(
        target=f"`{target}`" if target else " ".join(_words(training, "target")),
        version=_version(training),
        before=" and ".join(_words(training, "before")))


def _version(training):
    return "-3" if training.get("options", {}).get("version") == 3 else ""


def _corpus(corpus):
    train = corpus["train"]
    held = ", ".join(f"`{prefix}`" for prefix in
                     corpus["test_prefixes"] + corpus["validation_prefixes"])
    texts = "files" if held else "texts"
    dropped = ", ".join(f"{count} {reason}" for reason, count in
                        corpus["dropped"].items() if reason != "excluded")
    return (f"{train['files']:,} {texts}, {train['bytes']:,} bytes; held out: "
            f"{held or 'texts by a hash'}. "
            f"Dropped: {dropped or 'none'}.")


def _stage(stage):
    minutes = f"{stage['seconds'] / 60:.1f} minutes"
    if "processor_seconds" in stage:
        minutes += (f" ({stage['processor_seconds'] / 60:.1f} of processor "
                    "time)")
    losses = ", ".join(f"{name} {stage[name]:.3f}" for name in stage
                       if name in ("loss", "last", "early", "same", "missed")
                       or name.startswith(("head", "overlap")))
    return ["```", f"scripts/train {stage['command']}", "```", "",
            f"{stage['tokens']:,} tokens in {stage['steps']:,} steps, "
            f"{minutes} on {stage['machine']}; over the last "
            f"logged steps: {losses}.", ""]


def _measured(name, training, measured, by_directory):
    held = (f"On {measured['tokens']:,} tokens ({measured['bytes']:,} bytes, "
            f"{measured['documents']} "
            f"{'files) of text held out by directory' if by_directory else 'texts) held out'}, "
            f"read in windows of {measured['window']} tokens.")
    if training["recipe"] == "pretrain":
        exits = [row for row in measured["agreement"]
                 if row.startswith("exit")]
        early = ["", "Early exits compared with all layers:", ""]
        return [held, ""] + _bits(measured) + (
            early + _table(exits, measured) if exits else [])
    rules = ("`overlap` is the mean of sum(min(p, q)), the acceptance rate of "
             "one draft token. `same` is how often the likeliest token is the "
             "target's.")
    if training["recipe"] == "medusa":
        rows = [row for row in measured["agreement"]
                if row.startswith("head")]
        rules += (" Head i is compared with the target's distribution after "
                  "the true tokens between. A pair table counts tokens at the "
                  "same distance.")
    elif training["recipe"] == "lookahead":
        rows = [row for row in measured["agreement"]
                if row.startswith("vector")]
        rules += (" Vector i follows each place of the text, after the "
                  "vectors before it, and is compared with the target's "
                  "distribution i tokens later. A pair table counts tokens at "
                  "the same distance.")
    elif training["recipe"] == "eagle":
        rows = [row for row in measured["agreement"]
                if row.startswith(f"{name}, step")]
        rules += (" Step s is compared with the target's distribution after "
                  "the true tokens before it. From the second step on the head "
                  "reads its own states. Only places with five more tokens in "
                  "their window count.")
    else:
        rows = [name, "bigram table", "longest match"]
    lines = [held, rules, ""] + _table(rows, measured)
    if training["recipe"] == "boost" and "any_drafter_same" in measured:
        lines += ["", "The likeliest token of at least one drafter is the "
                  f"target's at {measured['any_drafter_same']:.1%} of places."]
    if name in measured.get("tokens_per_pass", {}):
        value, low, high = measured["tokens_per_pass"][name]
        lines += ["", f"Greedy decoding of {measured['chats']} held-out chats with a chain "
                  f"of four: {value:.2f} tokens per pass [{low:.2f}, {high:.2f}]."]
    return lines


def _bits(measured):
    lines = ["| | bits per byte |", "| --- | ---: |"]
    return lines + [f"| {name} | {bits:.3f} |"
                    for name, bits in measured["bits_per_byte"].items()]


def _table(rows, measured):
    unknown = [row for row in rows if row not in measured["agreement"]]
    if unknown or not rows:
        raise UserError("the measured file has no row "
                        f"{', '.join(unknown) or 'for this model'}; measure "
                        "the model with its target first")
    tops = [key for key in measured["agreement"][rows[0]]
            if key.startswith("top")]
    heads = (["same"] +
             [f"overlap at {t:g}" for t in TEMPERATURES] + tops)
    lines = ["| | " + " | ".join(heads) + " |",
             "| --- |" + " ---: |" * len(heads)]
    for row in rows:
        figures = measured["agreement"][row]
        cells = [f"{figures[h]:.3f}" if h in figures else "" for h in heads]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines
