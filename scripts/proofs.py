#!/usr/bin/env python3
"""Ties proofs by enumeration to the sources they compiled.

  proofs.py embed OUT        writes the C++ source that decode/proofs.cc reads:
                             a hash for each part, and the record itself
  proofs.py renew LOG...     writes decode/proofs.txt anew, from what the proof
                             programs printed (scripts/test --record)

decode/proofs.txt is the proof record. A line says that a verifier with one other
part (a policy, a drafter, a drafter that carries state, or merged trunks) gave
exactly the target's distribution in every enumerated pairing, and holds the
hashes of what those proofs compiled: the common part, the verifier's and the
other part's. A line is stale once a hash is another one: then the program says
"claimed", not "proven", and the tests fail.

A part's hash is over the sources it reaches by #include (a header brings the .cc
beside it) within FOLDERS, without comments and white space. Catalogues and lists of
rows are left out: a new row changes no proof of another one.
"""

import argparse
import collections
import hashlib
import pathlib
import re
import sys

RECORD = "decode/proofs.txt"
FOLDERS = ("decode", "verifiers", "tree", "drafters", "core/prob",
           "core/random")
# What every proof runs: rounds, and the source of chance that enumerates.
COMMON = ("decode/decoder.cc", "decode/round.cc", "decode/method.cc",
          "core/random/enumerating_source.cc")
# The proofs of verifiers with policies draft with this, and those of drafters
# draw trees of these (tests/conformance).
PROOF_DRAFTER = "drafters/*/small_model"
PROOF_POLICIES = ("tree/policies/plans.cc", "tree/policies/sequences.cc",
                  "tree/policies/best_first.cc",
                  "tree/policies/adaptive_chain.cc",
                  "tree/policies/fixed_shape.cc")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
COMMENT = re.compile(r"//[^\n]*")
# A line of a proof program: VERIFIER KIND PART.
PROVEN = re.compile(r"^proven: (\S+) (\S+) (\S+)$", re.M)

HEAD = """\
# The proof record: what enumeration has proven, and from which sources.
# scripts/test --record writes it after a full proof run; `banyan exact FILE
# --record` adds a line for a part of your own. scripts/proofs.py says more.
# verifier, kind, part, pairings, hashes (common.verifier.part), proven by
"""


class Sources:
    """The project's sources, and what each part compiles of them."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            file = self.root / path
            self.texts[path] = file.read_text() if file.is_file() else None
        return self.texts[path]

    def closure(self, seeds):
        """All files that `seeds` reach, themselves included."""
        found = set()
        todo = list(seeds)
        while todo:
            path = todo.pop()
            if (path in found or "catalogue." in path
                    or not path.startswith(tuple(f + "/" for f in FOLDERS))
                    or self.text(path) is None):
                continue
            todo += INCLUDE.findall(self.text(path))
            if path.endswith("/rows.h"):
                continue
            found.add(path)
            if path.endswith(".h"):
                todo.append(path[:-2] + ".cc")
        return found

    def hash(self, seeds):
        digest = hashlib.sha256()
        for path in sorted(self.closure(seeds)):
            code = "".join(COMMENT.sub("", self.text(path)).split())
            digest.update(f"{path} {code}\n".encode())
        return digest.hexdigest()[:8]

    def folder(self, folder):
        """The .cc files of the folders that a pattern names."""
        return [str(path.relative_to(self.root))
                for path in sorted(self.root.glob(f"{folder}/*.cc"))]

    def rows(self, catalogue, folders):
        """The rows that a catalogue lists, (name, text, file): each is the
        function NAMERow of a file in one of the folders."""
        files = self.folder(folders)
        for listed in re.findall(r"\b(\w+Row)\(\)", self.text(catalogue)):
            pattern = re.compile(rf"^\w+Row {listed}\(\) {{$.*?^}}$",
                                 re.M | re.S)
            found = [(path, match.group()) for path in files
                     if (match := pattern.search(self.text(path)))]
            if len(found) != 1:
                sys.exit(f"proofs.py: {catalogue} lists {listed}, which "
                         f"{len(found)} files of {folders} define; expected 1")
            path, text = found[0]
            # Its keys have names too.
            name = re.search(r'return {\s*\.name = "(\w+)"', text)
            yield name.group(1), text, path


def parts_of(sources):
    """[(kind, part, hash)]."""
    parts = [("common", "-", sources.hash(COMMON))]
    for name, _, path in sources.rows("verifiers/catalogue.cc", "verifiers"):
        parts.append(("verifier", name, sources.hash([path])))
    small_model = sources.folder(PROOF_DRAFTER)
    for name, _, path in sources.rows("tree/policies/catalogue.cc",
                                      "tree/policies"):
        parts.append(("policy", name, sources.hash([path] + small_model)))
    trunks = sources.hash(list(PROOF_POLICIES) + small_model)
    parts.append(("trunks", "merged", trunks))
    # Their policy is the proof's own.
    parts.append(("trunks", "taking_turns", trunks))
    for name, row, path in sources.rows("drafters/catalogue.cc",
                                        "drafters/*/*"):
        files = list(PROOF_POLICIES) + sources.folder(path.rpartition("/")[0])
        for inner in re.findall(r"name: (\w+)", row):
            files += sources.folder(f"drafters/*/{inner}")
        for kind in ("drafter", "carried"):
            parts.append((kind, name, sources.hash(files)))
    return parts


def literal(text):
    """A C++ string literal a line."""
    return "\n".join('    "' + line.replace("\\", r"\\").replace('"', r"\"") +
                     '\\n"' for line in text.splitlines()) or '    ""'


def embed(root, out):
    parts = "".join(f"{kind} {name} {value}\n"
                    for kind, name, value in parts_of(Sources(root)))
    record = (pathlib.Path(root) / RECORD).read_text()
    text = ("// Generated by scripts/proofs.py.\n"
            '#include "decode/proofs.h"\n\nnamespace banyan {\n\n'
            f"const char* const kProofParts =\n{literal(parts)};\n\n"
            f"const char* const kProofRecord =\n{literal(record)};\n\n"
            "}  // namespace banyan\n")
    out = pathlib.Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.is_file() or out.read_text() != text:
        out.write_text(text)


def renew(root, logs):
    hashes = {(kind, name): value
              for kind, name, value in parts_of(Sources(root))}
    counts = collections.Counter()
    for log in logs:
        counts.update(PROVEN.findall(pathlib.Path(log).read_text()))
    if not counts:
        sys.exit("proofs.py: the logs have no line 'proven: ...': expected "
                 "what the proof programs print")
    # Lines that users added, of pairs that the suite does not prove.
    lines = [line + "\n" for line in
             (pathlib.Path(root) / RECORD).read_text().splitlines()
             if not line.startswith("#")
             and "banyan exact" in line
             and tuple(line.split()[:3]) not in counts]
    for (verifier, kind, part), count in sorted(counts.items()):
        value = ".".join((hashes["common", "-"], hashes["verifier", verifier],
                          hashes[kind, part]))
        lines.append(f"{verifier} {kind} {part} {count} {value} the test "
                     "suite\n")
    (pathlib.Path(root) / RECORD).write_text(HEAD + "".join(lines))
    print(f"{RECORD}: {len(lines)} lines, {sum(counts.values())} pairings")


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("embed").add_argument("out", metavar="OUT")
    commands.add_parser("renew").add_argument("logs", nargs="+", metavar="LOG")
    options = parser.parse_args(arguments)
    root = pathlib.Path(__file__).resolve().parents[1]
    if options.command == "embed":
        embed(root, options.out)
    else:
        renew(root, options.logs)


if __name__ == "__main__":
    main(sys.argv[1:])
