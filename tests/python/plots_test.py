"""Tests of the plots that matplotlib draws.

    plots_test.py BANYAN MAKE_RECORDS
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
from recorded import Recorded, reported, system_python  # noqa: E402

system_python.skip_without("google.protobuf", "matplotlib")
os.environ["MPLBACKEND"] = "Agg"
from matplotlib import pyplot  # noqa: E402


def drawn(ax):
    """{series: its points} of an Axes."""
    points = {}
    for container in ax.containers:
        line = container.lines[0]
        points[container.get_label()] = [
            (float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata())]
    return points


class PlotsTest(Recorded):

    def tearDown(self):
        pyplot.close("all")

    def test_draws_the_points_and_names_of_the_data(self):
        report = reported(self.made())
        for name in ("tokens", "size", "depth", "rank", "lengths", "predicted"):
            figure = report.plot(name)
            data = report.figures(name)
            self.assertEqual(len(figure.axes), len(data))
            for ax, one in zip(figure.axes, data):
                self.assertEqual(drawn(ax), {
                    series["name"]: [(point["x"]["value"], point["y"]["value"])
                                     for point in series["points"]]
                    for series in one["series"]})
                self.assertEqual((ax.get_title(), ax.get_xlabel(), ax.get_ylabel()),
                                 (one["title"], one["x_title"], one["y_title"]))

    def test_intervals_are_error_bars(self):
        report = reported(self.made())
        [one] = report.figures("size", temperature=0)
        ax = report.plot("size", temperature=0).axes[0]
        for container, series in zip(ax.containers, one["series"]):
            [bars] = container.lines[2]
            for segment, point in zip(bars.get_segments(), series["points"]):
                low, high = sorted(float(y) for _, y in segment)
                self.assertAlmostEqual(low, point["y"]["low"], 12)
                self.assertAlmostEqual(high, point["y"]["high"], 12)

    def test_chains_are_hollow(self):
        report = reported(self.shards())
        ax = report.plot("size", temperature=0).axes[0]
        hollow = {container.get_label(): container.lines[0].get_markerfacecolor()
                  for container in ax.containers}
        self.assertEqual({name.split(": ")[1]: face == "white"
                          for name, face in hollow.items()},
                         {"chains": True, "expansion": False})

    def test_one_is_chosen_and_drawn_into_an_axes(self):
        report = reported(self.made())
        _, axes = pyplot.subplots(1, 2)
        figure = report.plot("depth", target="grown_target", ax=axes[1])
        self.assertIs(figure, axes[1].figure)
        self.assertIn("grown_target", axes[1].get_title())
        self.assertFalse(axes[0].containers)
        with self.assertRaisesRegex(ValueError, "2 plots and one Axes: choose one"):
            report.plot("depth", ax=axes[0])
        with self.assertRaisesRegex(ValueError, "no plot 'depth' of target None"):
            report.plot("depth", temperature=7)

    def test_five_lines_make_the_plot_of_a_paper(self):
        figure = reported(self.shards()).plot("size", temperature=0)
        figure.set_size_inches(3.3, 2.5)
        figure.savefig(self.folder / "speed_by_size.pdf")
        self.assertEqual((self.folder / "speed_by_size.pdf").read_bytes()[:5], b"%PDF-")

    def test_a_dollar_is_no_formula(self):
        report = reported(self.made())
        [one] = report.figures("size", temperature=0)
        one["series"][0]["name"] = "$x$ and _y"
        figure = report.plot("size", temperature=0)
        figure.savefig(self.folder / "odd.png")
        self.assertIn(r"\$x\$ and _y", [text.get_text() for text in
                                        figure.axes[0].get_legend().get_texts()])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
