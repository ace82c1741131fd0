"""What the report counts of a prompt, and how counts become a number.

The same definitions as experiments/metrics: counts are added over prompts and divided
once. Here are the metrics of the report's table and plots; `banyan report --format
csv` has all.
"""

import math
from typing import Callable, NamedTuple

from . import rounds

RATIO, RELATIVE, TOTAL = "ratio", "relative", "total"
NS_PER_MS = 1e6
NS_PER_S = 1e9


class Part(NamedTuple):
    """What one prompt adds to one number. The last two are the baseline's, where the
    number is relative to it."""

    over: float = 0.0
    under: float = 0.0
    base_over: float = 0.0
    base_under: float = 0.0

    def plus(self, other):
        return Part(*(a + b for a, b in zip(self, other)))


class Counted(NamedTuple):
    """A record, its cell's setting, and the figures of itself and its baseline."""

    setting: object
    record: object
    own: rounds.RecordFigures
    baseline: object  # RecordFigures, or None


class Metric(NamedTuple):
    form: str
    # Returns a Part for each key ("" if there is one number), and the Part that is
    # added under every key of the cell.
    count: Callable


NOTHING = Part()


def contributes(form, part):
    """Whether the part has what is divided by."""
    own = part.under > 0
    return (own and part.base_over > 0 and part.base_under > 0 if form == RELATIVE else
            own)


def value(form, total):
    """The number; None if it would divide by nothing, or is not a number."""
    if not contributes(form, total):
        return None
    number = total.over
    if form == RATIO:
        number = total.over / total.under
    if form == RELATIVE:
        number = (total.over / total.under) / (total.base_over / total.base_under)
    return None if math.isnan(number) else number


def _one(over, under, base_over=0.0, base_under=0.0):
    return {"": Part(float(over), float(under), float(base_over),
                     float(base_under))}, NOTHING


def _none():
    return {}, NOTHING


def _tokens(at):
    return _one(at.own.tokens, 1)


def _rounds(at):
    return _one(at.own.rounds, 1)


def _tokens_per_pass(at):
    return _one(at.own.tokens, at.own.rounds)


def _accepted_per_pass(at):
    if not at.setting.trunks:
        return _none()
    return _one(sum(min(len(made.path), made.emitted) for made in at.record.rounds),
                at.own.rounds)


def _alpha(at):
    """Of lossless verifiers; a lossy one accepts by a rule of its own."""
    if not at.setting.lossless:
        return _none()
    over = under = 0.0
    for made in at.record.rounds:
        for draws, _ in rounds.reached_lists(made):
            over += draws.overlap
            under += 1
    return _one(over, under) if under else _none()


def _speed(at):
    if at.baseline is None:
        return _none()
    return _one(at.own.tokens, at.own.rounds_ns, at.baseline.tokens,
                at.baseline.rounds_ns)


def _wall_speed(at):
    if at.baseline is None:
        return _none()
    return _one(at.own.tokens, at.own.wall_ns, at.baseline.tokens, at.baseline.wall_ns)


def _predicted_speed(at):
    """Rounds that a device ran alone have no times by phase."""
    if (at.baseline is None or at.own.has_device_rounds or
            at.baseline.has_device_rounds):
        return _none()
    under = 0.0
    for made in at.record.rounds:
        under += rounds.draft_ns(made) + rounds.target_ns(made)
    return _one(at.own.tokens, under, at.baseline.rounds, at.baseline.target_ns)


def _ms_per_token(at):
    return _one(at.own.rounds_ns / NS_PER_MS, at.own.tokens)


def _latency(at):
    return _one(rounds.latency_ns(at.record, at.own) / NS_PER_MS, at.own.tokens)


def _throughput(at):
    return _one(at.own.tokens, at.own.wall_ns / NS_PER_S)


def _drafted_nodes(at):
    return _one(sum(map(rounds.drafted_nodes, at.record.rounds)), at.own.rounds)


def _shares(hits, under):
    return ({key: Part(float(over)) for key, over in hits.items()},
            Part(under=float(under)))


def _acceptance_by_depth(at):
    hits = {}
    for made in at.record.rounds:
        for depth in range(1, rounds.levels(made) + 1):
            key = f"depth {depth}"
            hits[key] = hits.get(key, 0) + (depth <= len(made.path))
    return _shares(hits, at.own.rounds)


def _acceptance_by_rank(at):
    hits, lists = {}, 0
    for made in at.record.rounds:
        for draws, accepted in rounds.reached_lists(made):
            children = list(draws.children)
            if not children:
                continue
            lists += 1
            hit = children.index(accepted) if accepted in children else -1
            for draw in range(len(children)):
                key = f"rank {draw + 1}"
                hits[key] = hits.get(key, 0) + (accepted >= 0 and draw == hit)
    return _shares(hits, lists)


def _accepted_lengths(at):
    if not at.setting.trunks:
        return _none()
    hits = {}
    for made in at.record.rounds:
        key = f"length {len(made.path)}"
        hits[key] = hits.get(key, 0) + 1
    return _shares(hits, at.own.rounds)


METRICS = {
    "tokens": Metric(TOTAL, _tokens),
    "rounds": Metric(TOTAL, _rounds),
    "tokens_per_pass": Metric(RATIO, _tokens_per_pass),
    "accepted_per_pass": Metric(RATIO, _accepted_per_pass),
    "alpha": Metric(RATIO, _alpha),
    "speed": Metric(RELATIVE, _speed),
    "wall_speed": Metric(RELATIVE, _wall_speed),
    "predicted_speed": Metric(RELATIVE, _predicted_speed),
    "ms_per_token": Metric(RATIO, _ms_per_token),
    "latency": Metric(RATIO, _latency),
    "throughput": Metric(RATIO, _throughput),
    "drafted_nodes": Metric(RATIO, _drafted_nodes),
    "acceptance_by_depth": Metric(RATIO, _acceptance_by_depth),
    "acceptance_by_rank": Metric(RATIO, _acceptance_by_rank),
    "accepted_lengths": Metric(RATIO, _accepted_lengths),
}
# Those of the report's table.
DEFAULT = ("tokens_per_pass", "accepted_per_pass", "alpha", "speed", "predicted_speed",
           "ms_per_token")
