#!/usr/bin/env python3
"""Writes what is generated of the Python package in python/, or checks it.

  python_package.py [--protoc PROGRAM]           writes it
  python_package.py --check [--protoc PROGRAM]   fails if it differs, and says where

- python/banyan/records/record_pb2.py: by protoc, from experiments/records/record.proto.
- The tables of columns in python/README.md, between `<!-- columns of X -->` and
  `<!-- end -->`: from python/banyan/records/tables.py and report.py.

Needs protoc and Python's protobuf, which scripts/setup installs.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import system_python

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = "experiments/records/record.proto"
MODULE = ROOT / "python" / "banyan" / "records" / "record_pb2.py"
README = ROOT / "python" / "README.md"


def module(protoc):
    """The module that protoc writes. It registers the schema under its path from the
    project's root, which no other schema of a program has."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([protoc, f"--proto_path={ROOT}", f"--python_out={folder}",
                        SCHEMA], check=True)
        written = pathlib.Path(folder, SCHEMA).with_name("record_pb2.py")
        return written.read_text(encoding="utf-8")


def column_tables():
    """Markdown by the table's name."""
    sys.path.insert(0, str(ROOT / "python"))
    from banyan.records import report, tables
    columns = {
        "every table": tables.OF_CELL + tables.OF_PROMPT,
        "prompts": tables.PROMPTS,
        "rounds": tables.ROUNDS,
        "nodes": tables.NODES,
        "summary": sys.modules["banyan.records.report"].COLUMNS,
    }
    return {name: "\n".join(
        ["| column | type | unit | |", "| --- | --- | --- | --- |"] +
        [f"| `{column.name}` | {column.type}{' or missing' if column.missing else ''} "
         f"| {column.unit} | {column.meaning} |" for column in of_table]) + "\n"
            for name, of_table in columns.items()}


def renewed(text):
    """The README with these tables."""
    for name, table in column_tables().items():
        block = re.compile(rf"(<!-- columns of {name} -->\n).*?(<!-- end -->)", re.S)
        text, count = block.subn(lambda found, table=table: found[1] + table + found[2],
                                 text)
        if count != 1:
            sys.exit(f"{README}: {count} places for the columns of {name}; expected 1")
    return text


def difference(path, new):
    """Where the file is not as it should be; empty if it is."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if old == new:
        return ""
    found, expected = old.split("\n"), new.split("\n")
    at = next((number for number, pair in enumerate(zip(found, expected))
               if pair[0] != pair[1]), min(len(found), len(expected)) - 1)
    return (f"{path.relative_to(ROOT)}:{at + 1}: found\n  {found[at][:200]}\nexpected\n"
            f"  {expected[at][:200]}\nscripts/python_package.py writes it")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--protoc", default="protoc", metavar="PROGRAM")
    options = parser.parse_args()
    made = module(options.protoc)
    if not options.check:
        MODULE.write_text(made, encoding="utf-8")
    differing = [difference(MODULE, made)]
    system_python.require("google.protobuf")
    text = renewed(README.read_text(encoding="utf-8"))
    if not options.check:
        README.write_text(text, encoding="utf-8")
    differing.append(difference(README, text))
    if any(differing):
        sys.exit("\n".join(filter(None, differing)))


if __name__ == "__main__":
    main()
