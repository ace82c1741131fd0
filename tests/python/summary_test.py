"""Holds what the package says of a report against the report's own files.

    summary_test.py BANYAN MAKE_RECORDS
"""

import csv
import sys
import unittest

sys.dont_write_bytecode = True
from recorded import Recorded, reported, run  # noqa: E402


def text(value):
    """As the report's CSV writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.17g}" if isinstance(value, float) else str(value)


class SummaryTest(Recorded):

    def test_equals_the_csv(self):
        for folder in (self.shards(), self.cells(), self.batched(), self.chats(),
                       self.made(), self.made(12, 30)):
            with self.subTest(folder.name):
                done = run("report", folder, "--format", "csv", expected=(0, 3))
                want = list(csv.DictReader(done.stdout.splitlines()))
                got = [{name: text(value) for name, value in row.items()}
                       for row in reported(folder).summary()]
                self.assertGreater(len(want), 10)
                self.assertEqual(list(got[0]), list(want[0]))

                def key(row):
                    return row["cell"], row["metric"], row["key"]
                self.assertEqual(sorted(got, key=key), sorted(want, key=key))

    def test_chooses_metrics(self):
        report = reported(self.shards())
        for names in ("speed", ["speed", "alpha"]):
            found = {row["metric"] for row in report.summary(names)}
            self.assertEqual(found, {names} if isinstance(names, str) else set(names))
        with self.assertRaisesRegex(ValueError, "no metric 'sped' here; there are"):
            report.summary(["sped"])

    def test_has_the_answer(self):
        report = reported(self.shards())
        printed = " ".join(run("report", self.shards()).stdout.split())
        self.assertGreaterEqual(len(report.answer), 2)
        for sentence in (report.question, *report.answer):
            self.assertIn(" ".join(sentence.split()), printed)

    def test_writes_the_reports_figures(self):
        for folder in (self.shards(), self.made()):
            out = self.folder / f"figures_{folder.name}"
            run("report", folder, "--figures", out, expected=(0, 3))
            report = reported(folder)
            paths = report.write_figures(self.folder / f"own_{folder.name}")
            self.assertEqual(sorted(path.name for path in out.iterdir()),
                             sorted(path.rsplit("/", 1)[1] for path in paths))
            for path in paths:
                with open(path, "rb") as file:
                    self.assertEqual(file.read(),
                                     (out / path.rsplit("/", 1)[1]).read_bytes(), path)
            for figure in report.figures():
                want = list(csv.reader(figure["csv"].splitlines()))[1:]
                got = [[series["name"], point["label"]] + [
                    text(point[axis][end]) for axis in "xy"
                    for end in ("value", "low", "high")]
                    for series in figure["series"] for point in series["points"]]
                self.assertEqual([[cell.lstrip("'") for cell in row] for row in want],
                                 got, figure["file"])

    def test_plots_are_chosen_by_name(self):
        report = reported(self.made())
        for name in ("tokens", "size", "depth", "rank", "lengths", "predicted"):
            figures = report.figures(name)
            self.assertEqual([(figure["plot"], figure["target"], figure["temperature"])
                              for figure in figures],
                             [(name, "target", 0), (name, "grown_target", 1)])
        with self.assertRaisesRegex(ValueError, "no plot 'sizes'; there are tokens, "):
            report.figures("sizes")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
