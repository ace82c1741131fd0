"""prove: enumerates all outcomes of a part in Python on toy models.

- A verifier is proven with every compatible tree policy of the catalogue.
- A tree policy or a drafter is proven with every compatible lossless verifier.

Each runs with several sampling rules, with one and two drafters, for single rounds and
for two rounds enumerated jointly.
"""

import dataclasses
import itertools
import json
import typing

from . import parts, program

# Sums of up to a million products of some twenty factors.
TOLERANCE = 1e-9
# Leaves of one enumeration: larger cases are left out, and counted.
MOST_BRANCHES = 20_000
_TABLES = {
    2: ({"start": [.35, .65], "next": [[.2, .8], [.75, .25]]},
        {"start": [.8, .2], "next": [[.5, .5], [.3, .7]]},
        {"start": [.45, .55], "next": [[.1, .9], [.6, .4]]}),
    3: ({"start": [.1, .3, .6], "next": [[.2, .5, .3], [.6, .3, .1], [.3, .3, .4]]},
        {"start": [.7, .2, .1], "next": [[.5, .3, .2], [.3, .3, .4], [.1, .6, .3]]},
        {"start": [.3, .5, .2], "next": [[.2, .2, .6], [.4, .2, .4], [.5, .2, .3]]}),
}
_RULES = ({}, {"temperature": .5}, {"temperature": .7, "top_p": .9}, {"temperature": 0})


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """The smallest case in which the part is wrong."""

    file: dict              # for `banyan.exact`
    error: float            # the largest, of a text's probability
    total_variation: float
    text: str
    probability: float
    target_probability: float
    control: typing.Optional[str] = None  # the mistake most like it
    control_distance: float = 0.0


@dataclasses.dataclass(frozen=True)
class Proof:
    """What `prove` found. `print` shows it; `plot` draws a counterexample."""

    part: str
    cases: int
    largest_error: float
    left_out: dict          # reasons, with how many cases
    counterexample: typing.Optional[Counterexample] = None
    distributions: tuple = ()  # of the counterexample: the part's, the target's

    @property
    def proven(self):
        return self.cases > 0 and self.counterexample is None

    def __str__(self):
        lines = []
        if self.proven:
            lines.append(f"{self.part}: proven, {self.cases} enumerations, largest error "
                         f"{self.largest_error:.0e}")
        elif self.counterexample is None:
            lines.append(f"{self.part}: not proven, no case could be enumerated")
        else:
            bad = self.counterexample
            lines += [f"{self.part}: WRONG, found in enumeration {self.cases}",
                      f"  {_say(bad.file)}",
                      f"  text {bad.text}: probability {bad.probability:.6f}, the target's "
                      f"{bad.target_probability:.6f}; total variation "
                      f"{bad.total_variation:.1e}"]
            if bad.control is not None:
                lines.append(f"  most like the control {bad.control} (total variation "
                             f"{bad.control_distance:.1e} from it)")
        if self.left_out:
            reasons = sorted(self.left_out, key=lambda each: -self.left_out[each])
            lines.append(f"  left out: {sum(self.left_out.values())} cases that are "
                         "incompatible or too large, such as")
            lines += [f"    {self.left_out[reason]}: {reason}" for reason in reasons[:3]]
        return "\n".join(lines)

    def plot(self):
        """A figure of the counterexample: each text's probability and the target's."""
        if self.counterexample is None:
            raise ValueError(f"{self.part}: there is no counterexample to draw")
        from matplotlib.figure import Figure
        own, target = self.distributions
        texts = sorted(target)
        figure = Figure(figsize=(min(9, 2 + .35 * len(texts)), 2.6))
        axes = figure.add_subplot()
        places = range(len(texts))
        axes.bar([place - .2 for place in places], [target[text] for text in texts], .4,
                 label="target")
        axes.bar([place + .2 for place in places], [own[text] for text in texts], .4,
                 label=self.part.rpartition(":")[2])
        axes.set_xticks(list(places), texts, rotation=90, fontsize=7)
        axes.set_ylabel("probability")
        axes.legend(fontsize=8)
        figure.tight_layout()
        return figure


def _say(file):
    trees = [trunk["policy"] for trunk in file["trunks"]]
    return (f"{file['vocab']} tokens, {file['verifier']}, {trees}, sampling "
            f"{file.get('sampling') or {'temperature': 1}}"
            + (", two rounds together" if file.get("rounds_together") else ""))


def _catalogue():
    return json.loads(program.command("list", "--json", quiet=True))


def _sections(rows):
    """Small sections of a catalogue's rows, but of those in Python."""
    for row in rows:
        if row["name"] != "python":
            for example in row["examples"] or [f"{{name: {row['name']}}}"]:
                yield row, example


class _Yaml(str):
    """A section as the catalogue writes it."""


def _text(value):
    """YAML of a file in which some sections are text."""
    if isinstance(value, _Yaml):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


def _pairs(section, base):
    """The policies, verifiers and drafters that the part is proven with."""
    catalogue = _catalogue()
    policies = [_Yaml(text) for _, text in _sections(catalogue["policies"])]
    verifiers = [_Yaml(text) for row, text in _sections(catalogue["verifiers"])
                 if row["exactness"] == "lossless"]
    if base is parts.Verifier:
        for policy in policies:
            yield policy, section, None
    elif base is parts.TreePolicy:
        for verifier in verifiers:
            yield section, verifier, None
    else:
        for verifier, policy in itertools.product(
                verifiers, ("{name: chain, nodes: 1}", "{name: chain, nodes: 2}",
                            "{name: expansion, branching: [2]}",
                            "{name: expansion, branching: [2, 1]}")):
            yield _Yaml(policy), verifier, section


def _files(section, base):
    """The cases, small ones first."""
    for vocabulary, drafters, together, rule in itertools.product(
            (2, 3), (1, 2), (0, 2), _RULES):
        target, *tables = _TABLES[vocabulary]
        for policy, verifier, drafter in _pairs(section, base):
            chosen = [drafter] + tables[1:] if drafter is not None else tables
            yield {"vocab": vocabulary, "horizon": 3, "target": target,
                   "drafters": chosen[:drafters], "sampling": rule,
                   "trunks": [{"drafter": i, "policy": policy if i == 0 or base is
                               parts.TreePolicy else _Yaml("{name: chain, nodes: 1}")}
                              for i in range(drafters)],
                   "verifier": verifier, "rounds_together": together,
                   "max_branches": MOST_BRANCHES}


def _enumerated(file):
    """What `banyan.exact` gives, of a method whose claim is refuted too."""
    try:
        return program.exact(_text(file) + "\n")
    except program.Error as error:
        if not error.printed:
            raise
        return json.loads(error.printed)


def _distance(a, b):
    return sum(abs(a.get(text, 0) - b.get(text, 0)) for text in {*a, *b}) / 2


def _like(file, found):
    """The control whose distribution is nearest on the same toy."""
    nearest = (2.0, None)
    for control in (row["name"] for row in _catalogue()["controls"]):
        other = {**file, "control": control, "verifier": _Yaml("{name: multi_round}")}
        try:
            wrong = _enumerated(other)
        except program.Error:
            continue
        nearest = min(nearest, (_distance(found["distribution"], wrong["distribution"]),
                                control))
    return nearest


def prove(part, *, most_cases=None):
    """Enumerates a Verifier, TreePolicy or Drafter on toy models and returns a Proof.

    `part` is a class or a section with its arguments, {"python": Class, ...keys}. Small
    cases come first, so a counterexample is small. `most_cases` limits their number.
    """
    section = dict(part) if isinstance(part, dict) else {"python": part}
    cls = section["python"]
    bases = [base for base in (parts.Verifier, parts.TreePolicy, parts.Drafter)
             if isinstance(cls, type) and issubclass(cls, base)]
    if not bases:
        raise TypeError("prove: expected a subclass of banyan.Verifier, banyan.TreePolicy or "
                        f"banyan.Drafter, found {cls!r}")
    name = section["python"] = parts.path_of(cls)
    cases, largest, left_out = 0, 0.0, {}
    for file in _files(section, bases[0]):
        if most_cases is not None and cases >= most_cases:
            break
        try:
            found = _enumerated(file)
        except program.Error as error:
            reason = _reason(str(error))
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        cases += 1
        largest = max(largest, found["max_abs_error"])
        if found["max_abs_error"] <= TOLERANCE:
            continue
        own, target = found["distribution"], found["target_distribution"]
        text = max(target, key=lambda each: abs(own.get(each, 0) - target[each]))
        distance, control = _like(file, found)
        return Proof(part=name, cases=cases, largest_error=largest, left_out=left_out,
                     distributions=(own, target),
                     counterexample=Counterexample(
                         file=file, error=found["max_abs_error"], text=text,
                         total_variation=found["total_variation"],
                         probability=own.get(text, 0), target_probability=target[text],
                         control=control, control_distance=distance))
    return Proof(part=name, cases=cases, largest_error=largest, left_out=left_out)


def _reason(message):
    """Why a case was left out, without its place."""
    text = message.split("\n")[0]
    return text.split(": ", 1)[1] if text.startswith("<text>:") else text
