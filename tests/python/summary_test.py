"""Holds the package's numbers, intervals and plots' data against `banyan report`: they
are equal in every digit.

    summary_test.py BANYAN MAKE_RECORDS
"""

import copy
import csv
import math
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
from recorded import Recorded, banyan_records, read, run, two_cells, write  # noqa: E402

from banyan_records import bootstrap, plot_data  # noqa: E402

METRICS = list(banyan_records.METRICS)


def text(value):
    """As the report's CSV writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.17g}" if isinstance(value, float) else value


class SummaryTest(Recorded):

    def reported(self, folder, *options):
        done = run("report", folder, "--format", "csv", *options, expected=(0, 3))
        return list(csv.DictReader(done.stdout.splitlines()))

    def assert_same(self, folder, got, *options):
        want = [row for row in self.reported(folder, *options)
                if row["metric"] in METRICS]
        self.assertGreater(len(want), 10)
        key = ("cell", "metric", "key")
        wanted = {tuple(row[name] for name in key): row for row in want}
        found = {tuple(row[name] for name in key):
                 {name: str(text(value)) for name, value in row.items()} for row in got}
        self.assertEqual(found.keys(), wanted.keys())
        for name, row in wanted.items():
            self.assertEqual(found[name], row)
        self.assertEqual([row["cell"] for row in got], self.by_cell(want))
        self.assertEqual(list(got[0]), list(want[0]))

    def by_cell(self, rows):
        return [row["cell"] for row in rows]

    def test_equals_the_report(self):
        for folder in (self.shards(), self.cells(), self.batched(), self.chats(),
                       self.made(), self.made(12, 30)):
            with self.subTest(folder.name):
                self.assert_same(folder, list(read(folder).summary(METRICS)))

    def test_equals_the_report_without_numpy(self):
        with mock.patch.object(bootstrap, "numpy", None):
            self.assert_same(self.made(), list(read(self.made()).summary(METRICS)))

    def test_its_own_choice_is_the_reports_table(self):
        names = {row["metric"] for row in read(self.shards()).summary()}
        header = run("report", self.shards(), "--format", "markdown").stdout
        self.assertEqual(names, {"tokens_per_pass", "accepted_per_pass", "alpha",
                                 "speed", "predicted_speed", "ms_per_token"})
        for name in names:
            self.assertIn(name.replace("_", " "), header)

    def test_takes_one_kind_of_prompts(self):
        kinds = {row["kind"] for row in read(self.chats()).prompts}
        self.assertEqual(kinds, {"code", "list"})
        for kind in kinds:
            self.assert_same(self.chats(), list(
                read(self.chats()).summary(METRICS, kind=kind)), "--kind", kind)
        with self.raises("no prompt is of the kind 'prose'; there are code, list"):
            read(self.chats()).summary(kind="prose")

    def test_splits_cells_by_machine(self):
        """Two machines with other times, and prompts that only one of them has."""
        folder = self.folder / "machines"
        folder.mkdir()
        contents = {}
        for cpu, first in (("a processor", 0), ("another processor", 3)):
            context, records = two_cells(cpu)
            context.workload.prompts = 6
            made = contents[cpu] = (context, [])
            for prompt in range(first, first + 3):
                for record in copy.deepcopy(records):
                    record.prompt = prompt
                    record.id = f"{prompt}"
                    for entry in record.rounds:
                        entry.target_ns += 100 * prompt + 7 * first
                    made[1].append(record)
        for number, content in enumerate(contents.values()):
            write(folder / f"{number}.banyan", *content)
        records = read(folder)
        self.assert_same(folder, list(records.summary(METRICS)))
        self.assertEqual({row["cell"] for row in records.summary()},
                         {"plain, machine=1", "chain, machine=1", "plain, machine=2",
                          "chain, machine=2"})
        self.assert_same_figures(folder)

    def test_unknown_metrics_are_refused(self):
        with self.assertRaisesRegex(ValueError, "no metric 'sped' here; there are"):
            read(self.shards()).summary(["sped"])

    def assert_same_figures(self, folder):
        out = self.folder / f"figures_{folder.name}"
        run("report", folder, "--figures", out, expected=(0, 3))
        figures = read(folder).figures()
        self.assertEqual(sorted(f"{figure.file}.csv" for figure in figures),
                         sorted(path.name for path in out.glob("*.csv")))
        for figure in figures:
            with open(out / f"{figure.file}.csv", encoding="utf-8",
                      newline="") as file:
                want = list(csv.reader(file))[1:]
            got = [[series.name, point.label] +
                   [text(value) for value in point.x[:3] + point.y[:3]]
                   for series in figure.series for point in series.points]
            self.assertEqual(got, want, figure.file)
            svg = (out / f"{figure.file}.svg").read_text(encoding="utf-8")
            for words in (figure.title, figure.x_title, figure.y_title):
                self.assertIn(f">{words}</text>", svg)

    def test_the_plots_data_are_the_reports(self):
        for folder in (self.shards(), self.batched(), self.made()):
            with self.subTest(folder.name):
                self.assert_same_figures(folder)

    def test_a_method_is_a_line_by_size(self):
        """The larger tree is the first cell."""
        context, [plain, chain] = two_cells()
        context.workload.prompts = 3
        context.cells[1].axes.add(name="gamma", value="2")
        smaller = context.cells.add()
        smaller.CopyFrom(context.cells[1])
        smaller.name = "smaller"
        smaller.axes[0].value = "1"
        records = []
        for prompt in range(3):
            one, two = copy.deepcopy(chain), copy.deepcopy(chain)
            one.cell = 2
            two.rounds[0].tokens.append(9)
            two.rounds[0].parents.append(1)
            for record in (copy.deepcopy(plain), one, two):
                record.prompt = prompt
                record.id = f"{prompt}"
                record.rounds[0].target_ns += 100 * prompt
                records.append(record)
        folder = self.folder / "sizes"
        folder.mkdir()
        write(folder / "run.banyan", context, records)
        [size] = read(folder).figures("size")
        self.assertEqual([[point.label for point in series.points]
                          for series in size.series],
                         [["plain"], ["chain, gamma=1", "chain, gamma=2"]])
        self.assert_same_figures(folder)

    def test_plots_are_chosen_by_name(self):
        records = read(self.made())
        for name in plot_data.PLOTS:
            figures = records.figures(name)
            self.assertEqual({figure.name for figure in figures}, {name})
            self.assertEqual([(figure.target, figure.temperature)
                              for figure in figures],
                             [("target", 0.0), ("grown_target", 1.0)])
        with self.assertRaisesRegex(ValueError, "no plot 'sizes'; there are size, "):
            records.figures("sizes")

    def test_the_generator_is_philox(self):
        """Against the known answer of Random123 for zeros, and numpy's arrays against
        Python's integers."""
        with mock.patch.object(bootstrap, "SEED", 0):
            self.assertEqual(int(bootstrap._uniform(0) * 2.0 ** 53),
                             0x16554D9ECA36314C >> 11)
        if bootstrap.numpy is None:
            return
        words = [0, 1, 5 << 32 | 1999, (1 << 64) - 1]
        array = bootstrap.numpy.array(words, dtype=bootstrap.numpy.uint64)
        self.assertEqual(list(bootstrap._uniform(array)),
                         [bootstrap._uniform(word) for word in words])

    def test_quantiles_between_numbers_and_infinity(self):
        self.assertEqual(bootstrap._quantile([1.0, 2.0], 0.5), 1.5)
        self.assertEqual(bootstrap._quantile([1.0, math.inf], 0.5), 1.0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
