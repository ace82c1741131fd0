#!/usr/bin/env python3
"""Holds every #include of the project against the table in layers.txt.

  check_includes.py [ROOT]

Reads the table from ROOT/scripts/layers.txt and every source file below ROOT.
Each breach is printed as `file:line: what is wrong and by which rule`. The
rules:
  - a folder uses only the folders its line in the table names;
  - a third-party header is included only where the table allows it;
  - a folder that stands alone is used by itself and by whom the table names;
  - a function that the table keeps to some places is called there only;
  - the units of a folder (X.h with X.cc) that the table orders form no circle;
  - a header of ours is written with quotes and from the project root, and
    exists (X.pb.h stands for X.proto);
  - every source file belongs to a folder of the table;
  - every pattern of our own headers, or of folders standing alone, has a file.
"""

import argparse
import fnmatch
import graphlib
import os
import pathlib
import re
import sys

SOURCE_ENDINGS = (".h", ".cc", ".cu", ".cuh", ".hpp", ".cpp", ".inc")
# Matches the header's name with its delimiters, or a macro in its place.
INCLUDE = re.compile(r'\s*#\s*include(?:_next)?\b\s*("[^"]*"|<[^>]*>|\S+)')
# Matches the name of a function that is called with its class before it.
CALL = re.compile(r"::\s*(\w+)\s*\(")


class TableError(Exception):
    """layers.txt cannot be read as a table."""


class Table:
    """The rules of layers.txt."""

    def __init__(self, text):
        self.folders = {}  # folder -> patterns of folders it may use
        self.headers = {}  # pattern of headers -> places that may include them
        self.calls = {}  # name of a function -> places that may call it
        self.alone = {}  # pattern of folders -> who else may use them
        self.ordered = {}  # folder whose units form no circle -> nothing
        self.patterns = []  # (line, pattern, whether of a folder that is alone)
        parts = {"[folders]": self.folders, "[headers]": self.headers,
                 "[calls]": self.calls, "[alone]": self.alone,
                 "[ordered]": self.ordered}
        part = None
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            if line in parts:
                part = parts[line]
                continue
            name, colon, users = line.partition(":")
            if part is None or not colon or name.strip() in part:
                raise TableError(
                    f"scripts/layers.txt:{number}: expected [folders], "
                    f"[headers], [calls], [alone], [ordered] or a new "
                    f"'name: ...', found '{line}'")
            part[name.strip()] = users.split()
            if part is self.headers or part is self.alone:
                self.patterns.append((number, name.strip(), part is self.alone))

    def folder_of(self, path):
        """The deepest folder of the table that holds path, or None."""
        parents = map(str, pathlib.PurePosixPath(path).parents)
        return next((p for p in parents if p in self.folders), None)

    def top_folders(self):
        return {folder.partition("/")[0] for folder in self.folders}

    def may_use(self, user, used):
        return user == used or any(
            fnmatch.fnmatchcase(used, pattern)
            for pattern in self.folders[user])

    def may_enter(self, path, header):
        """The broken rule (folder, users) of a folder that stands alone, or
        None."""
        for folder in map(str, pathlib.PurePosixPath(header).parents):
            for pattern, users in self.alone.items():
                if same_depth_match(folder, pattern) and not any(
                        path == user or path.startswith(user + "/")
                        for user in [folder, *users]):
                    return folder, users
        return None

    def idle(self, files):
        """Every pattern of our own that none of the files has, as printable
        lines. Of others' headers there is no telling."""
        folders = {str(folder) for path in files
                   for folder in pathlib.PurePosixPath(path).parents}
        lines = []
        for number, pattern, alone in self.patterns:
            if alone:
                found = any(same_depth_match(f, pattern) for f in folders)
            else:
                found = (pattern.partition("/")[0] not in self.top_folders() or
                         fnmatch.filter(files, pattern))
            if not found:
                lines.append(f"scripts/layers.txt:{number}: no file of the "
                             f"project matches {pattern}")
        return lines

    def may_include(self, path, header):
        """The broken header rule (pattern, places), or None."""
        for pattern, places in self.headers.items():
            if (fnmatch.fnmatchcase(header, pattern) and
                    not stands_in(path, places)):
                return pattern, places
        return None

    def may_call(self, path, name):
        return name not in self.calls or stands_in(path, self.calls[name])


def stands_in(path, places):
    """Whether one of the places, folders or patterns, is or holds the file."""
    return any(path == place or path.startswith(place + "/") or
               ("*" in place and fnmatch.fnmatchcase(path, place))
               for place in places)


def same_depth_match(folder, pattern):
    """Whether the pattern names the folder itself, not one below it."""
    return (folder.count("/") == pattern.count("/") and
            fnmatch.fnmatchcase(folder, pattern))


def exists(root, header):
    if header.endswith(".pb.h"):
        header = header[:-len(".pb.h")] + ".proto"
    return (root / header).is_file()


def judge_ours(root, table, path, user, written):
    """What is wrong with an include of one of our own headers, or None."""
    header = written[1:-1]
    if written[0] == "<":
        return f'write "{header}", with quotes: it is ours'
    if os.path.normpath(header) != header:
        return f"write {written} plainly, from the project root"
    if not exists(root, header):
        return f"{written} does not exist"
    used = table.folder_of(header)
    if used is None:
        return f"no folder of scripts/layers.txt holds {written}"
    closed = table.may_enter(path, header)
    if closed:
        folder, users = closed
        return (f"{folder} stands alone ({written}); scripts/layers.txt lets "
                f"only {', '.join(users)} use it")
    if not table.may_use(user, used):
        may = ", ".join(table.folders[user]) or "nothing of ours"
        return (f"{user} may not use {used} ({written}); "
                f"scripts/layers.txt lets it use {may}")
    return None


def judge(root, table, path, user, written):
    """What is wrong with one include of the file path, or None."""
    if written[0] not in '"<':
        return f"cannot tell what {written} includes; name the header"
    header = written[1:-1]
    broken = table.may_include(path, header)
    if broken:
        pattern, places = broken
        return (f"{user} may not use {written}; scripts/layers.txt keeps "
                f"{pattern} to {', '.join(places)}")
    if header.partition("/")[0] in table.top_folders():
        return judge_ours(root, table, path, user, written)
    beside = (root / path).parent / header
    if written[0] == '"' and ("/" not in header or beside.is_file() or
                              header.startswith(".")):
        return (f"write {written} from the project root if it is ours, "
                f"<{header}> if it is not")
    return None


def check_file(root, table, path):
    """Every breach of one file, as printable lines."""
    user = table.folder_of(path)
    if user is None:
        return [f"{path}:1: no folder of scripts/layers.txt holds this file"]
    breaches = []
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        wrong = include and judge(root, table, path, user, include[1])
        if wrong:
            breaches.append(f"{path}:{number}: {wrong}")
        for name in CALL.findall(line.partition("//")[0]):
            if not table.may_call(path, name):
                breaches.append(
                    f"{path}:{number}: {user} may not call {name}(); "
                    f"scripts/layers.txt keeps it to "
                    f"{', '.join(table.calls[name])}")
    return breaches


def circle(root, folder, files):
    """A circle of the folder's units, as printable lines; none if there is
    none."""
    uses = {}
    for path in map(pathlib.PurePosixPath, files):
        if str(path.parent) != folder:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        used = (pathlib.PurePosixPath(include[1].strip('"'))
                for include in map(INCLUDE.match, text.splitlines()) if include)
        uses.setdefault(path.stem, set()).update(
            header.stem for header in used
            if str(header.parent) == folder and header.stem != path.stem)
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as error:
        return [f"{folder}: its units form a circle: "
                f"{' <- '.join(error.args[1])}"]
    return []


def source_files(root):
    """Every source file below root, as sorted paths relative to it. Hidden
    folders and build trees are passed over."""
    found = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [
            name for name in subfolders
            if not name.startswith(".") and not (
                folder == str(root) and name in ("build", "out")) and
            not os.path.exists(os.path.join(folder, name, "CMakeCache.txt"))]
        found += [
            pathlib.Path(folder, name).relative_to(root).as_posix()
            for name in files if name.endswith(SOURCE_ENDINGS)]
    return sorted(found)


def check(root):
    """(number of files read, every breach) of the project at root."""
    table = Table((root / "scripts/layers.txt").read_text(encoding="utf-8"))
    files = source_files(root)
    return len(files), table.idle(files) + [
        breach for path in files for breach in check_file(root, table, path)
    ] + [line for folder in table.ordered
         for line in circle(root, folder, files)]


def root_of(arguments, description):
    """The folder that a check's arguments name, or else the project's."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, metavar="ROOT",
                        default=pathlib.Path(__file__).parents[1],
                        help="default: this project")
    return parser.parse_args(arguments).root.resolve()


def main(arguments):
    root = root_of(arguments, __doc__)
    try:
        count, breaches = check(root)
    except (OSError, TableError) as error:
        print(error, file=sys.stderr)
        return 2
    for breach in breaches:
        print(breach)
    print(f"{count} files, {len(breaches)} breaches of the table")
    return 1 if breaches or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
