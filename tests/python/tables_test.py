"""Tests of the tables: what records say, in columns of the declared types.

    tables_test.py BANYAN MAKE_RECORDS
"""

import copy
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from recorded import (PROJECT, Recorded, pb, read, reported,  # noqa: E402
                      two_cells, write)

WALK = """
import re, sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
import banyan.records, banyan.records.tables, banyan.records.report
def most():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
before = most()
run = banyan.records.read(sys.argv[2])
for table in (run.prompts, run.rounds, run.nodes):
    assert sum(1 for _ in table) >= 40
print(most() - before)
"""
TYPES = {"str": str, "int": int, "float": float, "bool": bool}


class TablesTest(Recorded):

    def tables(self, folder):
        records = read(folder)
        return {"prompts": records.prompts, "rounds": records.rounds,
                "nodes": records.nodes, "summary": reported(folder).summary()}

    def test_every_value_has_the_type_of_its_column(self):
        for folder in (self.shards(), self.batched(), self.made()):
            for name, table in self.tables(folder).items():
                columns = {column.name: column for column in table.columns}
                self.assertEqual(len(columns), len(table.columns), "two of one name")
                seen = set()
                for row in table:
                    self.assertEqual(list(row), list(columns))
                    for key, value in row.items():
                        if value is None:
                            self.assertTrue(columns[key].missing, (name, key))
                        else:
                            self.assertIs(type(value), TYPES[columns[key].type],
                                          (name, key))
                            seen.add(key)
                if folder == self.made():  # which has no value for some
                    continue
                self.assertEqual(seen, set(columns), name)

    def test_a_table_may_be_walked_twice(self):
        table = read(self.shards()).rounds
        first = list(table)
        self.assertEqual(list(table), first)
        self.assertEqual([tuple(row.values()) for row in first], list(table.tuples()))

    def test_prompts_are_the_records(self):
        records = read(self.batched())
        rows = list(records.prompts)
        pairs = list(records)
        self.assertEqual(len(rows), len(pairs))
        for row, pair in zip(rows, pairs):
            record = pair.record
            self.assertEqual((row["cell"], row["prompt"], row["order"], row["id"]),
                             (pair.cell.name, record.prompt, record.order, record.id))
            self.assertEqual(row["tokens"], len(record.tokens))
            self.assertEqual(row["file"], pair.file)
            self.assertEqual(row["stop"], pb.Stop.Name(record.stop).lower())
            self.assertEqual(row["plain_rounds"], len(pair.baseline.rounds))
            self.assertEqual(row["plain_tokens"], len(pair.baseline.tokens))
            self.assertEqual(row["latency_ns"], record.ended_ns - record.admitted_ns)
            self.assertGreater(row["rounds_ns"], 0)
            self.assertAlmostEqual(row["log_probability"],
                                   sum(record.log_probability), 9)

    def test_rounds_add_up_to_prompts(self):
        for folder in (self.shards(), self.made()):
            records = read(folder)
            sums = {}
            for row in records.rounds:
                ns = sum(row[f"{phase}_ns"] for phase in (
                    "draft", "derive", "target", "verify", "commit", "device"))
                at = sums.setdefault((row["cell"], row["prompt"]), [0, 0, 0, 0, 0.0])
                at[0] += 1
                at[1] += row["nodes"]
                at[2] += row["accepted"]
                at[3] += row["emitted"]
                at[4] += ns / row["sequences"]
            for row in records.prompts:
                counts = sums[row["cell"], row["prompt"]]
                self.assertEqual(counts[:4], [row["rounds"], row["nodes"],
                                              row["accepted"], row["tokens"]])
                self.assertAlmostEqual(counts[4], row["rounds_ns"], 3)

    def test_nodes_are_the_trees(self):
        records = read(self.made())
        rows = iter(records.nodes)
        probes = merged = 0
        for cell, record in records.records():
            for number, made in enumerate(record.rounds):
                for node, parent in enumerate(made.parents):
                    row = next(rows)
                    self.assertEqual(
                        (row["cell"], row["prompt"], row["round"], row["node"],
                         row["parent"], row["token"]),
                        (cell.name, record.prompt, number, node, parent,
                         made.tokens[node]))
                    self.assertEqual(row["accepted"], node in made.path)
                    self.check_draws(row, made, node)
                    probes += row["probe"]
                    merged += row["trunks"] > 1
        self.assertIsNone(next(rows, None))
        self.assertGreater(probes, 0)
        self.assertGreater(merged, 0)

    def check_draws(self, row, made, node):
        """Against every list that names the node."""
        depth = 0
        while made.parents[node] >= 0 and depth < 99:
            parent = made.parents[node]
            depth, node = depth + 1, parent
        self.assertEqual(row["depth"], depth)
        drew = [draws for draws in made.lists if row["node"] in draws.children]
        self.assertEqual(row["trunks"], len({draws.trunk for draws in drew}))
        if not drew:
            self.assertEqual((row["rank"], row["q"], row["draws"], row["draw_kind"]),
                             (None,) * 4)
            probe = [probe.trunk for probe in made.probes if probe.node == row["node"]]
            self.assertEqual(row["probe"], bool(probe))
            self.assertEqual(row["trunk"], probe[0] if probe else None)
            return
        at_of = {draws.trunk: list(draws.children).index(row["node"])
                 for draws in drew}
        first = min(drew, key=lambda draws: draws.times[at_of[draws.trunk]]
                    if draws.times else draws.trunk)
        at = at_of[first.trunk]
        self.assertEqual((row["trunk"], row["rank"], row["q"], row["draws"]),
                         (first.trunk, at + 1, first.q[at], len(first.tokens)))
        self.assertEqual(row["draw_kind"], pb.DrawKind.Name(first.draws).lower())

    def test_axes_are_columns(self):
        columns = [column.name for column in read(self.made()).rounds.columns]
        self.assertIn("matrix.temperature", columns)  # there is a column of this name
        self.assertIn("shape", columns)
        row = next(iter(read(self.made()).rounds))
        self.assertEqual((row["matrix.temperature"], row["temperature"]), ("0", 0.0))
        self.assertIn("sampling.temperature",
                      [column.name for column in read(self.shards()).nodes.columns])

    def test_a_record_without_a_baseline_has_missing_values(self):
        missing = [row for row in read(self.made()).prompts
                   if row["plain_ns"] is None]
        self.assertGreater(len(missing), 0)
        for row in missing:
            self.assertIsNone(row["plain_tokens"])
            self.assertIsNone(row["plain_rounds"])

    def test_files_may_be_larger_than_memory(self):
        """Of 40 records of 2 MB each no more than a few are held."""
        context, [_, chain] = two_cells()
        chain.learnt.append(bytes(2_000_000))
        records = []
        for prompt in range(40):
            chain.prompt = prompt
            records.append(copy.deepcopy(chain))
        path = self.folder / "large.banyan"
        write(path, context, records)
        grown = int(subprocess.run(
            [sys.executable, "-c", WALK, PROJECT / "python", path], check=True,
            capture_output=True, text=True).stdout)
        self.assertGreater(path.stat().st_size, 80_000_000)
        self.assertLess(grown, 30_000, "KiB more than before the file was opened")

    def test_an_empty_table_has_its_columns(self):
        path = self.folder / "empty.banyan"
        write(path, two_cells()[0], [])
        self.assertEqual(list(read(path).rounds), [])
        self.assertIn("draft_ns", repr(read(path).rounds))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
