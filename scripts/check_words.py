"""Finds words that this project no longer writes; docs/glossary.md has those it does.

    python3 scripts/check_words.py

None may stand in documents outside code, in what the program and its page say, or in
comments. Lists what it finds. Needs the standard library only.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORDS = re.compile(
    r"(?<![\w./:-])(laws?|lawful|unlawful|twins?|company|hangs? on|so many|behind|"
    r"stood before|tokens a pass|times plain)(?![\w(-]|[./:]\w)", re.IGNORECASE)
PROGRAM = ("core", "tree", "drafters", "verifiers", "decode", "experiments", "configs")
FOLDERS = (*PROGRAM, "docs", "models", "python", "scripts", "tests", "training", "cmake")
CODE = re.compile(r"`[^`]*`")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT = {"//": re.compile(r"//.*"), "#": re.compile(r"(?:^|\s)#.*")}
MARKS = {".h": "//", ".cc": "//", ".cu": "//", ".js": "//", ".py": "#", ".yaml": "#",
         ".txt": "#", ".cmake": "#", "": "#"}


def prose(text):
    """All but indented code and what is between backticks."""
    blank = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group(0)), text)
    return [(number, line) for number, (line, written) in enumerate(
                zip(blank.split("\n"), text.split("\n")), 1)
            if not written.startswith("    ")]


def comments(text, mark):
    return [(number, CODE.sub("", part.group(0)))
            for number, line in enumerate(text.split("\n"), 1)
            for part in [COMMENT[mark].search(LITERAL.sub('""', line))] if part]


def literals(text):
    """Texts in quotes; a single word is an identifier, not a text."""
    return [(number, literal) for number, line in enumerate(text.split("\n"), 1)
            if not line.lstrip().startswith(("#include", "//"))
            for literal in LITERAL.findall(line)
            if not re.fullmatch(r'"\w*"', literal)]


def parts(path, text):
    """What people read of a file: line numbers and texts."""
    if path.suffix == ".md":
        return prose(text)
    mark = MARKS.get(path.suffix)
    read = comments(text, mark) if mark else []
    if path.parts[0] in PROGRAM and path.suffix in (".cc", ".h", ".js", ".html"):
        read += literals(text)
    return read


def check(root):
    """Lines "path:line: 'word'", and how many files were read."""
    files = [path for path in root.iterdir() if path.is_file()]
    files += [path for folder in FOLDERS for path in (root / folder).rglob("*")
              if path.is_file() and "corpus" not in path.parts]
    found, read = [], 0
    for path in sorted(files):
        name = path.relative_to(root)
        if name.suffix != ".md" and name.suffix not in MARKS or name.name[0] == ".":
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        read += 1
        found += [f"{name}:{line}: '{word.group(0)}'"
                  for line, part in parts(name, text)
                  for word in WORDS.finditer(part)]
    return found, read


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args(arguments)
    found, read = check(ROOT)
    print("\n".join(found) or f"{read} files, none of the words")
    if found:
        print("this project no longer writes these words; say it plainly, or as "
              "docs/glossary.md does")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
