#!/usr/bin/env python3
"""Writes the tables of keys in docs/formats.md, or checks them.

  key_tables.py PROGRAM          writes them as `PROGRAM list --markdown` says
  key_tables.py --check PROGRAM  fails if they differ, and says where

Each table stands in docs/formats.md between the lines `<!-- keys of X -->` and
`<!-- end -->`, where X heads the table's first column.
"""

import argparse
import pathlib
import re
import subprocess
import sys

DOC = pathlib.Path(__file__).resolve().parent.parent / "docs/formats.md"


def tables(program):
    """The tables that the program prints, by the head of their first column."""
    text = subprocess.run([program, "list", "--markdown"], check=True,
                          capture_output=True, text=True).stdout
    return {re.match(r"\| (\w+) \|", table).group(1): table
            for table in text.strip().split("\n\n")}


def renewed(doc, made):
    """The document with these tables."""
    for kind, table in made.items():
        block = re.compile(rf"(<!-- keys of {kind} -->\n).*?(<!-- end -->)",
                           re.S)
        doc, count = block.subn(lambda m: m[1] + table + "\n" + m[2], doc)
        if count != 1:
            sys.exit(f"{DOC}: {count} places for the keys of {kind}; "
                     "expected 1")
    return doc


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("program", metavar="PROGRAM")
    options = parser.parse_args(arguments)
    doc = DOC.read_text(encoding="utf-8")
    new = renewed(doc, tables(options.program))
    if not options.check:
        DOC.write_text(new, encoding="utf-8")
    elif new != doc:
        pairs = zip(doc.splitlines(), new.splitlines())
        at, (old, expected) = next((n, pair) for n, pair in enumerate(pairs, 1)
                                   if pair[0] != pair[1])
        sys.exit(f"docs/formats.md:{at}: found\n  {old}\nexpected\n  {expected}"
                 "\nscripts/key_tables.py build/release/banyan writes it")


if __name__ == "__main__":
    main(sys.argv[1:])
