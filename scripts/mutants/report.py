"""The results as tables."""

from mutant import KINDS

DEAD, LIVING, UNREACHED = "dead", "living", "unreached"
CLAIMED, UNCOMPILED = "claimed", "uncompiled"


class Tally:
    """What became of some mutants."""

    def __init__(self):
        self.planted = self.dead = self.living = self.claimed = 0

    def add(self, state):
        self.planted += 1
        self.dead += state == DEAD
        self.living += state in (LIVING, UNREACHED)
        self.claimed += state == CLAIMED

    def score(self):
        """Of 100 that change behaviour, how many die; None of none."""
        judged = self.dead + self.living
        return 100 * self.dead / judged if judged else None

    def row(self, name):
        score = self.score()
        shown = "-" if score is None else f"{score:.1f} %"
        return (f"{name:<16} {self.planted:>8} {self.dead:>6} "
                f"{self.living:>7} {self.claimed:>13} {shown:>8}")


def tally(rows):
    """{name: Tally} of (name, state)."""
    tallies = {}
    for name, state in rows:
        tallies.setdefault(name, Tally()).add(state)
    return tallies


def table(title, tallies, names):
    head = (f"{title:<16} {'planted':>8} {'dead':>6} {'living':>7} "
            f"{'cannot change':>13} {'score':>8}")
    return [head] + [tallies[name].row(name) for name in names
                     if name in tallies]


def report(judged, groups):
    """The lines of the report and the whole's Tally. `judged`: (mutant, group,
    state, by what)."""
    lines = []
    for mutant, _, state, _ in judged:
        if state in (LIVING, UNREACHED):
            why = "no test reaches it" if state == UNREACHED else "lives"
            lines += [f"{why}: {mutant.describe()}", ""]
    by_group = tally((group, state) for _, group, state, _ in judged)
    by_kind = tally((mutant.kind, state) for mutant, _, state, _ in judged)
    lines += table("folder", by_group, groups) + [""]
    lines += table("kind", by_kind, KINDS) + [""]
    whole = tally(("all", state) for _, _, state, _ in judged)
    lines += table("", whole, ["all"])
    return lines, whole.get("all", Tally())
