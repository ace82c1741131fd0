"""Draws the report's plots with matplotlib."""

import os

from .plot_data import make_figures

# The report's: told apart in grey too, by lightness and by the markers.
COLOURS = ("#0072b2", "#d98e00", "#009e73", "#d55e00", "#c4669a", "#4aa8e0", "#8a7a00",
           "#4b3fa0", "#8b1e4f")
MARKERS = ("o", "s", "^", "D")
GUIDE = {"color": "#5c6470", "linestyle": (0, (5, 4)), "linewidth": 1, "zorder": 1}
WIDTH, HEIGHT = 5.2, 3.8  # inches, of one Axes


def _chosen(run, name, target, temperature):
    figures = make_figures(run, name)
    there = ", ".join(f"target={figure.target!r} temperature={figure.temperature:g}"
                      for figure in figures) or "none"
    chosen = [figure for figure in figures
              if target in (None, figure.target) and
              temperature in (None, figure.temperature)]
    if not chosen:
        raise ValueError(f"no plot '{name}' of target {target!r} and temperature "
                         f"{temperature!r}; there are: {there}")
    return chosen


def _arms(points, which):
    """Lengths of the interval below and above each point, for matplotlib's errorbar;
    None if no point has one."""
    estimates = [getattr(point, which) for point in points]
    if all(estimate.low is None for estimate in estimates):
        return None
    return [[0.0 if estimate.low is None else max(0.0, estimate.value - estimate.low)
             for estimate in estimates],
            [0.0 if estimate.high is None else max(0.0, estimate.high - estimate.value)
             for estimate in estimates]]


def _plain(text):
    """matplotlib takes what is between two dollars for a formula."""
    return text.replace("$", r"\$")


def _draw_into(ax, figure):
    for series in figure.series:
        ax.errorbar([point.x.value for point in series.points],
                    [point.y.value for point in series.points],
                    yerr=_arms(series.points, "y"), xerr=_arms(series.points, "x"),
                    label=_plain(series.name), color=COLOURS[series.look % len(COLOURS)],
                    marker=MARKERS[series.look % len(MARKERS)], capsize=3,
                    linestyle="-" if series.line else "none", zorder=2)
    if figure.guide == "one":
        ax.axhline(1, **GUIDE)
    if figure.guide == "diagonal":
        ax.axline((1, 1), slope=1, **GUIDE)
    if figure.from_zero:
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
    # Wrapped where a paper makes the figure narrow.
    ax.set_title(_plain(figure.title), fontsize="medium", wrap=True)
    ax.set_xlabel(figure.x_title)
    ax.set_ylabel(figure.y_title)
    ax.grid(color="#e3e6ea")
    ax.set_axisbelow(True)
    ax.legend(frameon=False)


def draw(run, name, target=None, temperature=None, ax=None):
    figures = _chosen(run, name, target, temperature)
    if ax is not None:
        if len(figures) > 1:
            raise ValueError(
                f"{len(figures)} plots and one Axes: choose one by target= and "
                "temperature=, of " + ", ".join(
                    f"({figure.target!r}, {figure.temperature:g})"
                    for figure in figures))
        _draw_into(ax, figures[0])
        return ax.figure
    from matplotlib import pyplot
    drawn, axes = pyplot.subplots(1, len(figures), squeeze=False,
                                  figsize=(WIDTH * len(figures), HEIGHT),
                                  constrained_layout=True)
    for one, figure in zip(axes[0], figures):
        _draw_into(one, figure)
    return drawn


def write(run, folder, formats=("pdf",)):
    from matplotlib.figure import Figure
    os.makedirs(folder, exist_ok=True)
    paths = []
    for figure in make_figures(run):
        drawn = Figure(figsize=(WIDTH, HEIGHT), constrained_layout=True)
        _draw_into(drawn.subplots(), figure)
        for ending in (formats,) if isinstance(formats, str) else formats:
            paths.append(os.path.join(folder, f"{figure.file}.{ending}"))
            drawn.savefig(paths[-1])
    return paths
