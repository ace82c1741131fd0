"""One planted mistake, and its name that outlasts edits elsewhere."""

import dataclasses
import hashlib
import re

KINDS = ("relation", "operator", "constant", "left out", "min and max",
         "p and q")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """What stands at [start, end) of a file becomes `text`."""

    file: str
    function: str
    kind: str
    start: int
    end: int
    text: str
    # Whether the place is a statement with its semicolon, not an expression.
    statement: bool
    # The lines around the place before and after, spaces made one.
    before: str
    after: str
    # Which of several with the same lines in the same function, from 1.
    number: int

    @property
    def claim(self):
        """What names a mutant in docs/mutants.md, whatever its line."""
        return self.file, self.function, self.before, self.after, self.number

    @property
    def id(self):
        return hashlib.sha1(
            "\0".join(map(str, self.claim)).encode()).hexdigest()[:10]

    def describe(self):
        number = f" ({self.number})" if self.number > 1 else ""
        return (f"{self.id} {self.file}, {self.function}{number}, {self.kind}\n"
                f"  - {self.before}\n  + {self.after}")


def as_bytes(text):
    """A text of one character for every byte."""
    return text.encode("utf-8").decode("latin-1")


def of_bytes(text):
    return text.encode("latin-1").decode("utf-8")


def one_line(text):
    """C++ without comments to the end of a line, its spaces made one."""
    kept = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*',
                  lambda match: match.group(1) or "", text)
    return " ".join(kept.split())


def lines_around(source, start, end, text):
    """The lines that [start, end) stands on, before and after."""
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", end)
    last = len(source) if last < 0 else last
    before = one_line(source[first:last])
    after = one_line(source[first:start] + text + source[end:last])
    return before, after


def numbered(places):
    """The mutants of fields without a number, those that look alike told
    apart."""
    seen = {}
    mutants = []
    for fields in places:
        look = tuple(fields[key]
                     for key in ("file", "function", "before", "after"))
        seen[look] = seen.get(look, 0) + 1
        mutants.append(Mutant(**fields, number=seen[look]))
    return mutants
