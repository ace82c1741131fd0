"""python -m training RECIPE ..."""

import argparse
import importlib
import sys

from training.errors import UserError

RECIPES = {
    "corpus": "text files into training, validation and test splits",
    "talk": "chats that a chat model writes itself, as a corpus",
    "tokenizer": "a byte-level BPE tokenizer from a corpus",
    "pretrain": "a Llama-shaped model from scratch",
    "distill": "a small drafter from a target's distributions",
    "boost": "a drafter for what earlier drafters miss",
    "medusa": "heads on a target, each for a token further ahead",
    "eagle": "a layer that drafts from a target's hidden states",
    "lookahead": "vectors in the place of a target's tokens to come",
    "convert": "published heads to safetensors, EAGLE's between layouts",
    "measure": "agreement of drafters and heads on held-out text",
    "drafters": "four drafters for a chat model, trained on text it generates",
    "card": "a model's README.md from what was measured",
    "shipped": "everything in models/, made again",
    "contrasts": "drafters and heads that differ in their teaching alone",
}


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m training",
        description="Recipes that train models, drafters and heads.")
    commands = parser.add_subparsers(dest="command", required=True,
                                     metavar="RECIPE")
    wanted = arguments[0] if arguments else None
    for name, summary in RECIPES.items():
        command = commands.add_parser(name, help=summary)
        if name == wanted:  # PyTorch is slow to load
            module = importlib.import_module(f"training.{name}")
            command.description = module.__doc__
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(command)
            command.set_defaults(handler=module.run)
    options = parser.parse_args(arguments)
    options.words = arguments[1:]
    return options


def main(arguments):
    options = parse(arguments)
    try:
        options.handler(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 130 if str(error).startswith("stopped at") else 1
    except OSError as error:  # says which file
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
