"""What `banyan report --format json` says: the answer, numbers with intervals, plots."""

import json
import os
from typing import NamedTuple

from .tables import FLOAT, INT, OF_CELL, STR, Column, Table, axis_columns

CELL, *PROPERTIES = OF_CELL
NUMBERS = (
    Column("metric", STR, "", "`banyan list` describes each."),
    Column("key", STR, "", "Tells the numbers of a metric apart; empty if it is one."),
    Column("value", FLOAT, "", "A sum over prompts divided by another."),
    Column("low", FLOAT, "", "The 95 % interval's lower end.", missing=True),
    Column("high", FLOAT, "", "The 95 % interval's upper end.", missing=True),
    Column("prompts", INT, "", "How many prompts the number is computed from."),
)
COLUMNS = (CELL, *PROPERTIES, *NUMBERS)

COLOURS = ("#0072b2", "#d98e00", "#009e73", "#d55e00", "#c4669a", "#4aa8e0", "#8a7a00",
           "#4b3fa0", "#8b1e4f")
MARKERS = ("o", "s", "^", "D")
GUIDE = {"color": "#5c6470", "linestyle": (0, (5, 4)), "linewidth": 1, "zorder": 1}
WIDTH, HEIGHT = 5.2, 3.8  # inches, of one Axes


class _Axes(NamedTuple):
    """A cell as axis_columns asks for it."""

    axes: dict


class Report:
    """A report.

    document   all of it, as docs/formats.md describes it
    question   that the experiment asks
    answer     its sentences
    warnings   sentences, as `banyan report` prints them
    """

    def __init__(self, document):
        self.document = document
        self.question = document["question"]
        self.warnings = document["warnings"]
        self.answer = [sentence for target in document["answer"]["targets"]
                       for sentence in target["opening"]]

    def __repr__(self):
        return f"<Report of {len(self.document['cells'])} cells: {self.question!r}>"

    def summary(self, metrics=None):
        """A Table of the cells' numbers with 95 % intervals. `metrics` are names of
        `banyan list`; all, if None."""
        known = [metric["name"] for metric in self.document["metrics"]]
        names = known if metrics is None else (
            [metrics] if isinstance(metrics, str) else list(metrics))
        for name in names:
            if name not in known:
                raise ValueError(f"no metric '{name}' here; there are "
                                 f"{', '.join(known)}")
        cells = self.document["cells"]
        axes = axis_columns([_Axes(cell["axes"]) for cell in cells],
                            {column.name for column in PROPERTIES})

        def rows():
            for cell in cells:
                of_cell = (cell["name"], cell["method"], cell["target"],
                           cell["temperature"], cell["lossless"],
                           *axes.values(_Axes(cell["axes"])))
                for name in names:
                    for key, found in cell["metrics"].get(name, {}).items():
                        yield (*of_cell, name, key, float(found["value"]),
                               found["low"], found["high"], found["prompts"])

        return Table((CELL, *PROPERTIES, *axes.columns, *NUMBERS), rows)

    def figures(self, plot=None, target=None, temperature=None):
        """The plots as the document has them, dicts with `series` and `svg`; those
        that are asked for."""
        figures = self.document["figures"]
        known = list(dict.fromkeys(figure["plot"] for figure in figures))
        if plot is not None and plot not in known:
            raise ValueError(f"no plot '{plot}'; there are {', '.join(known)}")
        return [figure for figure in figures
                if plot in (None, figure["plot"]) and target in (None, figure["target"])
                and temperature in (None, figure["temperature"])]

    def plot(self, plot="size", target=None, temperature=None, ax=None):
        """Draws a plot with matplotlib, an Axes for each target and temperature.
        Returns the Figure. `ax` is an Axes to draw one plot into."""
        figures = self.figures(plot, target, temperature)
        if not figures:
            raise ValueError(f"no plot '{plot}' of target {target!r} and temperature "
                             f"{temperature!r}")
        if ax is not None:
            if len(figures) > 1:
                raise ValueError(f"{len(figures)} plots and one Axes: choose one by "
                                 "target= and temperature=")
            _draw(ax, figures[0])
            return ax.figure
        from matplotlib import pyplot
        drawn, axes = pyplot.subplots(1, len(figures), squeeze=False,
                                      figsize=(WIDTH * len(figures), HEIGHT),
                                      constrained_layout=True)
        for one, figure in zip(axes[0], figures):
            _draw(one, figure)
        return drawn

    def write_figures(self, folder):
        """Writes every plot as SVG and CSV into a folder, which it makes, as `banyan
        report --figures` does. Returns the paths."""
        os.makedirs(folder, exist_ok=True)
        paths = []
        for figure in self.document["figures"]:
            for ending in ("svg", "csv"):
                paths.append(os.path.join(folder, f"{figure['file']}.{ending}"))
                with open(paths[-1], "w", encoding="utf-8", newline="") as file:
                    file.write(figure[ending])
        return paths


def report(path):
    """Reads a file that `banyan report --format json --out FILE` wrote."""
    with open(path, encoding="utf-8") as file:
        return Report(json.load(file))


def _plain(text):
    """matplotlib takes what is between two dollars for a formula."""
    return text.replace("$", r"\$")


def _arms(points, which):
    """Lengths of the interval below and above each point; None if no point has one."""
    found = [point[which] for point in points]
    if all(one["low"] is None for one in found):
        return None
    return [[0.0 if one["low"] is None else max(0.0, one["value"] - one["low"])
             for one in found],
            [0.0 if one["high"] is None else max(0.0, one["high"] - one["value"])
             for one in found]]


def _draw_bars(ax, figure):
    """Shares one after the other, a bar for each label, the first on top."""
    ends = {}
    for series in figure["series"]:
        points = series["points"]
        ax.barh([_plain(point["label"]) for point in points],
                [point["y"]["value"] for point in points],
                left=[ends.get(point["label"], 0) for point in points],
                label=_plain(series["name"]),
                color=COLOURS[series["colour"] % len(COLOURS)])
        for point in points:
            ends[point["label"]] = ends.get(point["label"], 0) + point["y"]["value"]
    ax.invert_yaxis()


def _draw_points(ax, figure):
    for series in figure["series"]:
        points = series["points"]
        ax.errorbar([point["x"]["value"] for point in points],
                    [point["y"]["value"] for point in points],
                    yerr=_arms(points, "y"), xerr=_arms(points, "x"),
                    label=_plain(series["name"]), capsize=3, zorder=2,
                    color=COLOURS[series["colour"] % len(COLOURS)],
                    marker=MARKERS[series["shape"] % len(MARKERS)],
                    markerfacecolor="white" if series["hollow"] else None,
                    linestyle="-" if series["line"] else "none")
    if figure["guide"] == "one":
        ax.axhline(1, **GUIDE)
    if figure["guide"] == "diagonal":
        ax.axline((1, 1), slope=1, **GUIDE)
    if figure["share"]:
        ax.set_ylim(bottom=0, top=min(1, ax.get_ylim()[1]))
        ax.xaxis.get_major_locator().set_params(integer=True)


def _draw(ax, figure):
    if figure["stacked"]:
        _draw_bars(ax, figure)
    else:
        _draw_points(ax, figure)
    # Wrapped where a paper makes the figure narrow.
    ax.set_title(_plain(figure["title"]), fontsize="medium", wrap=True)
    ax.set_xlabel(figure["x_title"])
    ax.set_ylabel(figure["y_title"])
    ax.grid(color="#e3e6ea")
    ax.set_axisbelow(True)
    ax.legend(frameon=False)
