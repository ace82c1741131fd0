"""The data of the report's plots (experiments/report/figures/figures.h)."""

import re
from typing import List, NamedTuple, Optional

from .bootstrap import Estimate
from .cells import Cell
from .summary import estimates

METRICS = ("speed", "drafted_nodes", "predicted_speed", "acceptance_by_depth",
           "acceptance_by_rank", "accepted_lengths")


class Point(NamedTuple):
    x: Estimate  # without an interval where x is no measurement
    y: Estimate
    label: str


class Series(NamedTuple):
    name: str
    points: List[Point]
    look: int  # the cell's number among those of the plots: colour and marker
    line: bool  # joins its points


class Figure(NamedTuple):
    name: str  # "size", "depth", "rank", "lengths", "predicted"
    target: str
    temperature: float
    file: str  # without an extension, different for each
    title: str
    x_title: str
    y_title: str
    series: List[Series]
    guide: Optional[str]  # "one": the line y = 1; "diagonal": the line y = x
    from_zero: bool  # the y axis begins at 0


# name: (file, title, x title, y title, guide)
PLOTS = {
    "size": ("speed_by_size", "Speedup by tree size",
             "drafted nodes per round, mean", "speedup over plain decoding", "one"),
    "depth": ("acceptance_by_depth", "Acceptance by depth", "depth in the tree",
              "share of rounds that accept as many tokens", None),
    "rank": ("acceptance_by_rank", "Acceptance by rank", "rank among siblings",
             "accepted share", None),
    "lengths": ("accepted_lengths", "Accepted lengths",
                "draft tokens accepted in a round", "share of rounds", None),
    "predicted": ("predicted_speed", "Predicted and measured speedup",
                  "predicted speedup", "measured speedup", "diagonal"),
}


class _Row(NamedTuple):
    cell: Cell
    numbers: dict  # by metric and key

    def one(self, metric):
        return self.numbers[metric].get("")


def axis_value(cell, axis):
    """The cell's value of an axis, or of a property of this name; an empty text
    without one."""
    properties = {"method": cell.method, "target": cell.target,
                  "verifier": cell.setting.verifier,
                  "temperature": f"{cell.temperature:g}"}
    return cell.axes.get(axis, properties.get(axis, ""))


def _label(row, rows, axes):
    """The method and the axes in which the cells differ."""
    label = row.cell.method
    for axis in axes:
        own = axis_value(row.cell, axis)
        if own and len({axis_value(other.cell, axis) for other in rows}) > 1:
            label += f", {axis}={own}"
    return label if row.cell.lossless else f"{label} (lossy)"


def _size(rows, axes):
    """Speedup by drafted nodes: a line for each method."""
    series = {}
    for look, row in enumerate(rows):
        speed, nodes = row.one("speed"), row.one("drafted_nodes")
        if speed is None or nodes is None:
            continue
        of_method = series.setdefault(row.cell.method,
                                      Series(row.cell.method, [], look, True))
        of_method.points.append(
            Point(Estimate(nodes.value), speed, _label(row, rows, axes)))
    for of_method in series.values():
        of_method.points.sort(key=lambda point: point.x.value)
    return list(series.values())


def _keyed(metric):
    """A line for each cell over the keys of a metric: x is 2 of "depth 2"."""
    def series(rows, axes):
        return [Series(_label(row, rows, axes),
                       [Point(Estimate(float(re.search(r"\d+", key)[0])), estimate, key)
                        for key, estimate in row.numbers[metric].items()], look, True)
                for look, row in enumerate(rows) if row.numbers[metric]]

    return series


def _predicted(rows, axes):
    series = []
    for look, row in enumerate(rows):
        predicted, speed = row.one("predicted_speed"), row.one("speed")
        if predicted is not None and speed is not None:
            label = _label(row, rows, axes)
            series.append(Series(label, [Point(predicted, speed, label)], look, False))
    return series


_SERIES = {"size": _size, "depth": _keyed("acceptance_by_depth"),
           "rank": _keyed("acceptance_by_rank"), "lengths": _keyed("accepted_lengths"),
           "predicted": _predicted}


def _file_name(text):
    return re.sub(r"[^A-Za-z0-9.]", "-", text)


def make_figures(run, name=None):
    """The plots for which the records have numbers, by target and temperature in the
    order of the cells."""
    if name is not None and name not in PLOTS:
        raise ValueError(f"no plot '{name}'; there are {', '.join(PLOTS)}")
    groups = {}  # by target and temperature
    for cell, numbers in estimates(run, METRICS):
        groups.setdefault((cell.target, cell.temperature), []).append(
            _Row(cell, numbers))
    axes = list(dict.fromkeys(
        axis for rows in groups.values() for row in rows for axis in row.cell.axes))
    several = len({target for target, _ in groups}) > 1
    figures, files = [], set()
    for (target, temperature), rows in groups.items():
        where = (f"{_file_name(target)}_" if several else "") + f"T{temperature:g}"
        for plot, (file, title, x_title, y_title, guide) in PLOTS.items():
            series = _SERIES[plot](rows, axes)
            if not series:
                continue
            unique = f"{file}_{where}"
            while unique in files:
                unique += "_"
            files.add(unique)
            title += f", temperature {temperature:g}" + (f", {target}" if several else
                                                         "")
            figures.append(Figure(plot, target, temperature, unique, title, x_title,
                                  y_title, series, guide,
                                  plot in ("depth", "rank", "lengths")))
    return [figure for figure in figures if name in (None, figure.name)]
