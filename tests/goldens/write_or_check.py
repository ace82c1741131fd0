"""The command line of scripts that compute goldens."""
import argparse


def main(doc, compute):
    """Writes the files, or says which are not as computed. `compute` gives
    their texts by path. Returns the exit code."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.write == arguments.check:
        parser.error("say --write or --check")
    wrong = []
    for path, text in compute().items():
        if arguments.write:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            wrong.append(path.name)
    print("differ:", *wrong) if wrong else print("as computed")
    return 1 if wrong else 0
