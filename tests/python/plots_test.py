"""Tests of the plots that matplotlib draws.

    plots_test.py BANYAN MAKE_RECORDS
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
from recorded import Recorded, banyan_records, read, system_python  # noqa: E402

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
        records = read(self.made())
        for name in ("size", "depth", "rank", "lengths", "predicted"):
            figure = records.plot(name)
            data = records.figures(name)
            self.assertEqual(len(figure.axes), len(data))
            for ax, one in zip(figure.axes, data):
                self.assertEqual(drawn(ax), {
                    series.name: [(point.x.value, point.y.value)
                                  for point in series.points] for series in one.series})
                self.assertEqual((ax.get_title(), ax.get_xlabel(), ax.get_ylabel()),
                                 (one.title, one.x_title, one.y_title))
                self.assertEqual([text.get_text() for text in
                                  ax.get_legend().get_texts()],
                                 [series.name for series in one.series])

    def test_intervals_are_error_bars(self):
        records = read(self.made())
        [one] = [figure for figure in records.figures("size")
                 if figure.temperature == 0]
        ax = records.plot("size", temperature=0).axes[0]
        for container, series in zip(ax.containers, one.series):
            [bars] = container.lines[2]
            for segment, point in zip(bars.get_segments(), series.points):
                low, high = sorted(float(y) for _, y in segment)
                self.assertAlmostEqual(low, point.y.low, 12)
                self.assertAlmostEqual(high, point.y.high, 12)

    def test_one_is_chosen_and_drawn_into_an_axes(self):
        records = read(self.made())
        _, axes = pyplot.subplots(1, 2)
        figure = records.plot("depth", target="grown_target", ax=axes[1])
        self.assertIs(figure, axes[1].figure)
        self.assertIn("grown_target", axes[1].get_title())
        self.assertFalse(axes[0].containers)
        with self.assertRaisesRegex(ValueError, "2 plots and one Axes: choose one"):
            records.plot("depth", ax=axes[0])
        with self.assertRaisesRegex(ValueError, "there are: target='target' temp"):
            records.plot("depth", temperature=7)

    def test_writes_every_plot(self):
        folder = self.folder / "plots"
        paths = banyan_records.plots(self.made(), folder, ("pdf", "svg"))
        names = {figure.file for figure in read(self.made()).figures()}
        self.assertEqual({os.path.basename(path) for path in paths},
                         {f"{name}.{ending}" for name in names
                          for ending in ("pdf", "svg")})
        for path in paths:
            self.assertGreater(os.path.getsize(path), 2000)

    def test_five_lines_make_the_plot_of_a_paper(self):
        run = banyan_records.read(self.shards())
        figure = run.plot("size", temperature=0)
        figure.set_size_inches(3.3, 2.5)
        figure.savefig(self.folder / "speed_by_size.pdf")
        self.assertEqual(list(drawn(figure.axes[0])), ["plain", "chain", "tree"])
        self.assertEqual((self.folder / "speed_by_size.pdf").read_bytes()[:5], b"%PDF-")

    def test_a_dollar_is_no_formula(self):
        from banyan_records import drawing, plot_data
        one = read(self.made()).figures("size")[0]
        odd = one._replace(series=[one.series[0]._replace(name="$x$ and _y")])
        self.assertIsInstance(odd, plot_data.Figure)
        figure, ax = pyplot.subplots()
        drawing._draw_into(ax, odd)
        figure.savefig(self.folder / "odd.png")
        self.assertEqual([text.get_text() for text in ax.get_legend().get_texts()],
                         [r"\$x\$ and _y"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
