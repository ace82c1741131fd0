#!/usr/bin/env python3
"""Holds the sources to a size and an order in which they can be read.

  check_structure.py [ROOT]

Counts the source files below ROOT, without those of tests/ and examples/, and the
circles of units (X.h with X.cc is one) that include each other. Fails if
  - a file has more than MOST_LINES lines;
  - there are more than MOST_CIRCLES circles, or one has more than LARGEST_CIRCLE
    units;
  - more than MOST_INCLUDES of all lines are #include;
  - there are more than MOST_FILES files, or more than a folder of FOLDERS may have.
"""

import pathlib
import re
import sys

import check_includes

MOST_LINES = 500
MOST_CIRCLES = 3
LARGEST_CIRCLE = 3
MOST_INCLUDES = 0.09
MOST_FILES = 700
# Folders that tend to collect what belongs nowhere.
FOLDERS = {"core/base": 20}
OUTSIDE = ("tests/", "examples/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
COMMENT = re.compile(r"^\s*//")


def unit_of(path):
    return path.rpartition(".")[0]


def includes_of(text):
    return [match[1] for match in map(INCLUDE.match, text.splitlines()) if match]


def units_of(texts):
    """{unit: the units that it includes} of {path: text}."""
    units = {unit_of(path): set() for path in texts}
    for path, text in texts.items():
        units[unit_of(path)].update(
            unit_of(header) for header in includes_of(text)
            if header in texts and unit_of(header) != unit_of(path))
    return units


def reached(units, start):
    """All units that `start` includes, directly or not."""
    found, waiting = set(), list(units[start])
    while waiting:
        unit = waiting.pop()
        if unit not in found:
            found.add(unit)
            waiting += units[unit]
    return found


def circles_of(units):
    """The circles, each as a sorted list of units, the largest first."""
    reach = {unit: reached(units, unit) for unit in units}
    circles = {tuple(sorted(other for other in reach[unit] | {unit}
                            if unit in reach[other]))
               for unit in units if unit in reach[unit]}
    return sorted(map(list, circles), key=lambda circle: (-len(circle), circle))


def share(includes, lines):
    return includes / lines if lines else 0


def counts_of(texts):
    """What the rules are about, of {path: text}."""
    lines = [line for text in texts.values() for line in text.splitlines()]
    includes = sum(1 for line in lines if INCLUDE.match(line))
    plain = sum(1 for line in lines if line.strip() and not INCLUDE.match(line)
                and not COMMENT.match(line))
    return {
        "files": len(texts), "lines": len(lines), "plain": plain,
        "includes": share(includes, len(lines)),
        "circles": circles_of(units_of(texts)),
        "long": sorted(path for path, text in texts.items()
                       if len(text.splitlines()) > MOST_LINES),
        "folders": {folder: sum(1 for path in texts
                                if path.rpartition("/")[0] == folder)
                    for folder in FOLDERS}}


def summary(counts):
    circles = counts["circles"]
    largest = len(circles[0]) if circles else 0
    return (f"source files {counts['files']}, lines {counts['lines']}, without "
            f"blanks, comments and includes {counts['plain']}, include lines "
            f"{counts['includes']:.1%}, circles of units {len(circles)} (largest "
            f"{largest}), files over {MOST_LINES} lines: "
            f"{', '.join(counts['long']) or 'none'}")


def breaches(counts):
    """What breaks a rule, as printable lines."""
    circles = counts["circles"]
    wrong = [f"{path}: over {MOST_LINES} lines" for path in counts["long"]]
    if len(circles) > MOST_CIRCLES:
        wrong.append(f"{len(circles)} circles of units, at most {MOST_CIRCLES} may be")
    wrong += [f"a circle of {len(circle)} units, at most {LARGEST_CIRCLE} may be: "
              f"{', '.join(circle)}"
              for circle in circles if len(circle) > LARGEST_CIRCLE]
    if counts["includes"] > MOST_INCLUDES:
        wrong.append(f"{counts['includes']:.1%} of the lines are includes, at most "
                     f"{MOST_INCLUDES:.0%} may be")
    if counts["files"] > MOST_FILES:
        wrong.append(f"{counts['files']} files, at most {MOST_FILES} may be")
    return wrong + [f"{folder}: {counts['folders'][folder]} files, at most {most} may be"
                    for folder, most in FOLDERS.items()
                    if counts["folders"][folder] > most]


def check(texts):
    """(the counts, every breach) of {path: text}."""
    counts = counts_of(texts)
    return counts, breaches(counts)


def sources(root):
    return {path: (root / path).read_text(encoding="utf-8")
            for path in check_includes.source_files(root)
            if not path.startswith(OUTSIDE)}


def main(arguments):
    texts = sources(check_includes.root_of(arguments, __doc__))
    counts, wrong = check(texts)
    print(summary(counts))
    for circle in counts["circles"]:
        print(f"circle: {', '.join(circle)}")
    for line in wrong:
        print(line)
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
