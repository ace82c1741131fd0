"""Tests of tables as pandas.DataFrame.

    pandas_test.py BANYAN MAKE_RECORDS
"""

import sys
import unittest

sys.dont_write_bytecode = True
from recorded import Recorded, read, reported, system_python, two_cells, write  # noqa: E402

system_python.skip_without("google.protobuf", "pandas")


class PandasTest(Recorded):

    def test_frames_have_the_rows_and_types_of_their_tables(self):
        kinds = {"int": ("int64",), "float": ("float64",), "bool": ("bool",),
                 "str": ("object", "str")}
        for folder in (self.shards(), self.made()):
            records = read(folder)
            for table in (records.prompts, records.rounds, records.nodes,
                          reported(folder).summary()):
                frame = table.pandas()
                rows = list(table)
                self.assertEqual(len(frame), len(rows))
                self.assertEqual(list(frame.columns),
                                 [column.name for column in table.columns])
                for column in table.columns:
                    found = frame[column.name]
                    expected = (("Int64",) if column.missing and column.type == "int"
                                else kinds[column.type])
                    self.assertIn(str(found.dtype), expected, column.name)
                    values = [None if gone else value for value, gone in
                              zip(found.astype(object), found.isna())]
                    self.assertEqual(values, [row[column.name] for row in rows])

    def test_an_empty_frame_has_its_columns(self):
        path = self.folder / "empty.banyan"
        write(path, two_cells()[0], [])
        frame = read(path).rounds.pandas()
        self.assertEqual(len(frame), 0)
        self.assertEqual(str(frame["draft_ns"].dtype), "int64")
        self.assertIn("cell", frame.columns)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
