"""Tests of tables as Arrow tables, and of Parquet files of any size.

    arrow_test.py BANYAN MAKE_RECORDS

Skipped, with the reason, without pyarrow, which Debian 12 has no package of.
"""

import sys
import unittest

sys.dont_write_bytecode = True
from recorded import Recorded, read, reported, system_python, two_cells, write  # noqa: E402

system_python.skip_without("google.protobuf", "pyarrow")
import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402


class ArrowTest(Recorded):

    def test_arrow_tables_have_the_rows_and_types_of_their_tables(self):
        types = {"int": pyarrow.int64(), "float": pyarrow.float64(),
                 "bool": pyarrow.bool_(), "str": pyarrow.string()}
        for folder in (self.shards(), self.made()):
            records = read(folder)
            for table in (records.prompts, records.rounds, records.nodes,
                          reported(folder).summary()):
                arrow = table.arrow()
                self.assertEqual(arrow.to_pylist(), list(table))
                for column, field in zip(table.columns, arrow.schema):
                    self.assertEqual((field.name, field.type, field.nullable),
                                     (column.name, types[column.type], column.missing))
                    self.assertEqual(field.metadata[b"unit"].decode(), column.unit)
                    self.assertEqual(field.metadata[b"meaning"].decode(),
                                     column.meaning)

    def test_batches_make_a_parquet_file(self):
        table = read(self.made()).nodes
        path = self.folder / "nodes.parquet"
        sizes = []
        with pyarrow.parquet.ParquetWriter(path, table.arrow_schema()) as file:
            for batch in table.batches(rows=100):
                sizes.append(batch.num_rows)
                file.write_batch(batch)
        self.assertGreater(len(sizes), 3)
        self.assertEqual(set(sizes[:-1]), {100})
        self.assertEqual(pyarrow.parquet.read_table(path).to_pylist(), list(table))

    def test_an_empty_table_has_its_schema(self):
        path = self.folder / "empty.banyan"
        write(path, two_cells()[0], [])
        rounds = read(path).rounds
        self.assertEqual(rounds.arrow().num_rows, 0)
        self.assertEqual(rounds.arrow().schema, rounds.arrow_schema())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
