"""Tests of scripts/check_structure.py: trees of sources with planted faults."""

import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import check_structure  # noqa: E402 (the path comes first)


def include(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


def padded(text, lines=100):
    """The text with lines of code below, so that few of all are includes."""
    return text + "int a;\n" * lines


def ring(name, size):
    """Units in a circle, each a header that includes the next."""
    return {f"{name}/{i}.h": padded(include(f"{name}/{(i + 1) % size}.h"))
            for i in range(size)}


def breaches(texts):
    return check_structure.check(texts)[1]


class StructureTest(unittest.TestCase):

    def test_lines_are_counted_by_what_they_are(self):
        counts, wrong = check_structure.check({
            "tree/a.h": "// A tree.\n" + include("tree/b.h") + "\nint a;\n" * 20,
            "tree/b.h": "int b;\n"})
        self.assertEqual(wrong, [])
        self.assertEqual((counts["files"], counts["lines"], counts["plain"]),
                         (2, 43, 21))
        self.assertAlmostEqual(counts["includes"], 1 / 43)
        self.assertEqual(
            check_structure.summary(counts),
            "source files 2, lines 43, without blanks, comments and includes 21, "
            "include lines 2.3%, circles of units 0 (largest 0), files over 500 "
            "lines: none")

    def test_a_file_of_more_than_500_lines_is_a_breach(self):
        self.assertEqual(breaches({"tree/a.cc": "int a;\n" * 500}), [])
        self.assertEqual(breaches({"tree/a.cc": "int a;\n" * 501}),
                         ["tree/a.cc: over 500 lines"])

    def test_a_header_and_its_source_are_one_unit(self):
        texts = {"tree/a.h": padded(""), "tree/b.h": padded(include("tree/a.h")),
                 "tree/a.cc": padded(include("tree/a.h", "tree/b.h"))}
        self.assertEqual(check_structure.check(texts)[0]["circles"],
                         [["tree/a", "tree/b"]])
        texts["tree/c.cc"] = texts.pop("tree/a.cc")
        self.assertEqual(check_structure.check(texts)[0]["circles"], [])

    def test_three_circles_of_three_units_may_be(self):
        circles = {**ring("a", 3), **ring("b", 3), **ring("c", 2)}
        self.assertEqual(breaches(circles), [])
        self.assertEqual(breaches({**circles, **ring("d", 2)}),
                         ["4 circles of units, at most 3 may be"])
        self.assertEqual(breaches(ring("a", 4)), [
            "a circle of 4 units, at most 3 may be: a/0, a/1, a/2, a/3"])

    def test_what_leads_to_a_circle_is_not_in_it(self):
        texts = {**ring("a", 2), "b.h": padded(include("a/0.h"))}
        self.assertEqual(check_structure.check(texts)[0]["circles"],
                         [["a/0", "a/1"]])

    def test_more_than_nine_hundredths_of_includes_are_a_breach(self):
        self.assertEqual(breaches({"a.cc": padded("#include <a>\n" * 9, 91)}), [])
        self.assertEqual(breaches({"a.cc": padded("#include <a>\n" * 10, 90)}),
                         ["10.0% of the lines are includes, at most 9% may be"])

    def test_too_many_files_are_a_breach(self):
        self.assertEqual(breaches({f"tree/{i}.h": "" for i in range(700)}), [])
        self.assertEqual(breaches({f"tree/{i}.h": "" for i in range(701)}),
                         ["701 files, at most 700 may be"])
        self.assertEqual(breaches({f"core/base/{i}.h": "" for i in range(20)} |
                                  {"core/base/below/a.h": ""}), [])
        self.assertEqual(breaches({f"core/base/{i}.h": "" for i in range(21)}),
                         ["core/base: 21 files, at most 20 may be"])

    def test_the_status_tells_of_breaches(self):
        for texts, status in (({"a.cc": "int a;\n"}, 0), ({}, 1),
                              ({"a.cc": "int a;\n" * 501}, 1)):
            with mock.patch.object(check_structure, "sources",
                                   return_value=texts), \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(check_structure.main([]), status)

    def test_tests_and_examples_are_not_counted(self):
        paths = check_structure.sources(PROJECT)
        self.assertIn("tree/draft_tree.h", paths)
        self.assertFalse([path for path in paths
                          if path.startswith(("tests/", "examples/"))])

    def test_this_project_keeps_to_it(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_structure.main([])
        self.assertEqual(status, 0, output.getvalue())


if __name__ == "__main__":
    unittest.main()
