"""Chooses the mutants to plant, evenly from all groups. The order depends on a
seed; edits elsewhere do not change it."""

import hashlib
import pathlib
import re

HEADING = re.compile(r"^## `(?P<file>[^`]+)`, `(?P<function>[^`]+)`"
                     r"(?: \((?P<number>\d+)\))?$")


class ClaimError(Exception):
    """docs/mutants.md cannot be read."""


def group_of(name, paths):
    """The longest of `paths` that holds the file, or None."""
    holding = [path for path in paths
               if name == path or name.startswith(path.rstrip("/") + "/")]
    return max(holding, key=len, default=None)


def in_seeded_order(mutants, seed):
    return sorted(mutants, key=lambda mutant: hashlib.sha256(
        f"{seed}\0{mutant.id}".encode()).digest())


class Sample:
    """Draws `size` mutants, alike from every group; those dropped make room
    for the next."""

    def __init__(self, groups, size, seed):
        """`groups`: {path: mutants}."""
        self.waiting = {path: in_seeded_order(mutants, seed)
                        for path, mutants in groups.items()}
        self.taken = {path: [] for path in groups}
        self.size = size

    def fill(self):
        """Takes until there are enough, one of each group in turn; returns
        those taken."""
        new = []
        while self.count() < self.size and any(self.waiting.values()):
            least = min((path for path in self.waiting if self.waiting[path]),
                        key=lambda path: len(self.taken[path]))
            mutant = self.waiting[least].pop(0)
            self.taken[least].append(mutant)
            new.append(mutant)
        return new

    def drop(self, mutant):
        for taken in self.taken.values():
            if mutant in taken:
                taken.remove(mutant)

    def count(self):
        return sum(map(len, self.taken.values()))

    def mutants(self):
        return [mutant for taken in self.taken.values() for mutant in taken]


def read_claims(path):
    """{claim of a mutant: why it cannot change behaviour}. An entry is a
    heading with file and function, the lines before and after as a diff, and
    a reason."""
    if not path.exists():
        return {}
    claims = {}
    parts = re.split(r"^(?=## )", path.read_text(encoding="utf-8"),
                     flags=re.MULTILINE)
    for part in parts[1:]:
        heading, _, body = part.partition("\n")
        match = HEADING.match(heading)
        diff = re.match(r"\n```diff\n- ([^\n]*)\n\+ ?([^\n]*)\n```\n(.*)", body,
                        re.DOTALL)
        if match is None or diff is None or not diff.group(3).strip():
            raise ClaimError(
                f"{path}: expected '## `file`, `function`', a diff of two "
                f"lines and a reason at '{heading}'")
        claim = (match["file"], match["function"], diff.group(1),
                 diff.group(2), int(match["number"] or 1))
        if claim in claims:
            raise ClaimError(f"{path}: '{heading}' stands there twice")
        claims[claim] = " ".join(diff.group(3).split())
    return claims


def sources(root, paths, names):
    """{file: group} of the .cc files of `paths`, in order."""
    found = {name: group_of(name, paths) for name in names
             if name.endswith(".cc")}
    for path in paths:
        if not (pathlib.Path(root) / path).exists():
            raise FileNotFoundError(f"there is no {path}")
    return {name: group for name, group in found.items() if group is not None}
