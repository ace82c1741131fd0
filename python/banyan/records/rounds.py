"""What tables and metrics need of a round and of a record.

The same definitions as experiments/metrics/round_figures.h.
"""

from typing import NamedTuple


class RecordFigures(NamedTuple):
    """Sums over a record's rounds: what a method is divided by."""

    tokens: int
    rounds: int
    rounds_ns: float
    target_ns: float
    wall_ns: float
    has_device_rounds: bool


def sequences(made):
    """How many sequences shared the round. Each is charged an equal share of its
    times."""
    return max(1, made.sequences)


def draft_ns(made):
    return float(sum(made.draft_ns)) / sequences(made)


def target_ns(made):
    return float(made.target_ns) / sequences(made)


def round_ns(made):
    """All phases of the round: this sequence's share."""
    others = (made.derive_ns + made.target_ns + made.verify_ns + made.commit_ns +
              made.device_ns)
    return draft_ns(made) + float(others) / sequences(made)


def record_figures(record):
    rounds_ns = 0.0
    of_target_ns = 0.0
    for made in record.rounds:
        rounds_ns += round_ns(made)
        of_target_ns += target_ns(made)
    return RecordFigures(
        len(record.tokens), len(record.rounds), rounds_ns, of_target_ns,
        float(record.prefill_ns) + rounds_ns,
        any(made.device_ns > 0 for made in record.rounds))


def latency_ns(record, figures):
    """From the prompt's admission to its end; alone that is all of its time."""
    return (float(record.ended_ns - record.admitted_ns) if record.batch else
            figures.wall_ns)


def depths(parents):
    """By node; the root's is 0."""
    found = [0] * len(parents)
    for node in range(1, len(parents)):
        found[node] = found[parents[node]] + 1
    return found


def levels(made):
    """The depth of the deepest drafted node; 0 without one."""
    probes = {probe.node for probe in made.probes}
    return max((depth for node, depth in enumerate(depths(list(made.parents)))
                if node not in probes), default=0)


def drafted_nodes(made):
    """All but the root and the probes."""
    return len(made.tokens) - 1 - len(made.probes)


def pass_tokens(made):
    """Rows of the target's pass."""
    return max(len(made.tokens), made.pass_tokens)


def reached_lists(made):
    """(draw list, accepted child of its node or -1) of the root and the accepted
    path."""
    path = list(made.path)
    after = dict(zip([0, *path], [*path, -1]))
    return [(draws, after[draws.node]) for draws in made.lists if draws.node in after]
