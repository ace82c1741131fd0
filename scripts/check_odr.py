#!/usr/bin/env python3
"""Holds every name of the project to one definition.

  check_odr.py [ROOT]

Two files may define one name differently, each validly on its own. The program
then has no defined meaning: the linker silently keeps one of the two. Two steps
find such names, in seconds and without a build:

  - All headers are compiled as one translation unit, where a second definition
    is an error: of a type, an alias, a constant, an enumerator, an inline
    function, a template. X.pb.h is made of X.proto first. $CXX is the compiler
    (c++ if unset).
  - The types that any file defines outside unnamed namespaces and functions are
    read by their braces: no two files may define one. This is for source files,
    each a translation unit of its own, those of tests among them.

Not found: inline functions and templates of functions that two source files
define outside unnamed namespaces (other functions, the linker finds); names
that macros make; one definition that macros or options compile in two ways.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from check_includes import root_of, source_files  # noqa: E402

# Included once for every instruction set, or by nvcc, so not beside others.
PER_TARGET = "-inl.h"
# Needs headers that a build without Python's extension does not have. Its types are
# still held against the others by their braces.
OPTIONAL = "python/extension/"
# What is no code: comments, texts, characters, directives. A ' between digits
# separates them.
NO_CODE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<raw>[^\s()\\]*)\(.*?\)(?P=raw)"|'
    r'"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])*\'|'
    r'^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*', re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"\w+|::|\[\[|\]\]|\S")
TYPE_KEYS = ("class", "struct", "union", "enum")
PAIRS = {"(": ")", "<": ">", "[[": "]]"}


class UnreadableError(Exception):
    """A source file whose braces do not pair."""


def closing(tokens, at):
    """Where the bracket at `at` closes: the last place if nowhere, and `at`
    itself if it is no bracket."""
    opens, depth = tokens[at], 0
    if opens not in PAIRS:
        return at
    for place in range(at, len(tokens)):
        depth += tokens[place] == opens
        depth -= tokens[place] == PAIRS[opens]
        if depth == 0:
            return place
    return len(tokens) - 1


def namespace_of(head):
    """The names of a namespace that opens after these tokens, () without one:
    none for `extern "C"`; None if the tokens open no namespace."""
    words = [token for token in head if token != "inline"]
    if words == ["extern"]:
        return ()
    if words[:1] != ["namespace"]:
        return None
    return tuple(word for word in words[1:] if word != "::") or ("",)


def type_of(head):
    """The name of the type whose body opens after these tokens, as it is
    written there (Outer::Inner, Law<int>); "" if they open none with one."""
    at = 0
    while at < len(head) and head[at] not in TYPE_KEYS:
        at = closing(head, at) + 1  # over <class T>, (struct T* t), a word
    name = ""
    while at < len(head) and head[at] not in (":", "final"):
        end = closing(head, at)
        word = "".join(head[at:end + 1])
        if word == "=" or (word[0] == "(" and head[at - 1] != "alignas"):
            return ""  # a variable or a function of the type
        if word == "::" or word[0] == "<" or name.endswith("::"):
            name += word
        elif word[0] not in "([" and word not in TYPE_KEYS:
            name = word  # an earlier word was a macro or an attribute
        at = end + 1
    return name


def types_in(text):
    """(qualified name, line) of each type that is defined in a file outside
    unnamed namespaces, functions and other types."""
    text = NO_CODE.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
    found = []
    scopes = []  # of each open brace: the names of a namespace, or None
    head = []  # tokens since the last brace or semicolon
    depth = 0  # of parentheses
    for match in TOKEN.finditer(text):
        token = match[0]
        if token == "{":
            linked = all(scope is not None and "" not in scope
                         for scope in scopes)
            name = type_of(head) if linked and depth == 0 else ""
            if name:
                outer = [part for scope in scopes for part in scope]
                found.append(("::".join(outer + [name]),
                              text.count("\n", 0, match.start()) + 1))
            scopes.append(namespace_of(head))
        elif token == "}":
            if not scopes:
                raise UnreadableError("a brace closes that none opened")
            scopes.pop()
        depth += (token == "(") - (token == ")")
        head = [] if token in ("{", "}", ";") else head + [token]
    if scopes:
        raise UnreadableError("a brace is left open")
    return found


def check_types(root, files):
    """(how many types the files define, what is wrong)."""
    places = collections.defaultdict(list)  # by name
    wrong = []
    for path in files:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        try:
            for name, line in types_in(text):
                places[name].append((path, line))
        except UnreadableError as error:
            wrong.append(f"{path}:1: {error}")
    for name, where in sorted(places.items()):
        if len({path for path, _ in where}) > 1:
            (first, line), *others = where
            wrong += [f"{path}:{number}: {name} is defined once more; first "
                      f"at {first}:{line}" for path, number in others]
    return len(places), wrong


def run(root, command):
    """What a command run at root prints, and if it ended well."""
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout, done.returncode == 0


def check_headers(root, headers):
    """(how many headers were compiled together, what is wrong)."""
    headers = [path for path in headers
               if not path.endswith(PER_TARGET) and not path.startswith(OPTIONAL)]
    with tempfile.TemporaryDirectory() as folder:
        schemas = sorted(path.relative_to(root).as_posix()
                         for path in root.glob("experiments/**/*.proto"))
        unit = pathlib.Path(folder, "all_headers.cc")
        unit.write_text("".join(f'#include "{path}"\n' for path in headers),
                        encoding="utf-8")
        commands = [[os.environ.get("CXX", "c++"), "-std=c++20",
                     "-fsyntax-only", "-w", "-I", ".", "-I", folder, str(unit)]]
        if schemas:
            commands.insert(0, ["protoc", "--proto_path=.",
                                f"--cpp_out={folder}", *schemas])
        for command in commands:
            printed, well = run(root, command)
            if not well:
                return len(headers), [printed.rstrip()]
    return len(headers), []


def main(arguments):
    root = root_of(arguments, __doc__)
    files = source_files(root)
    types, wrong = check_types(root, files)
    try:
        headers, conflicts = check_headers(
            root, [path for path in files if path.endswith(".h")])
    except OSError as error:
        print(f"{error}: a compiler and protoc are needed", file=sys.stderr)
        return 2
    for line in wrong + conflicts:
        print(line)
    well = types > 0 and headers > 0 and not wrong and not conflicts
    print(f"{len(files)} files, {types} types, {headers} headers compiled "
          f"together: {'' if well else 'not '}one definition a name")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
