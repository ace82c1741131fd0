"""Tests of scripts/summarize_tests.py on the words ctest writes."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as ElementTree

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import summarize_tests  # noqa: E402 (the path comes first)

PASSED = '<testcase name="A.Passes" status="run"/>'
FAILED = ('<testcase name="A.Fails" status="fail">'
          '<failure message="Timeout"/></testcase>')
SKIPPED = """<testcase name="A.Skips" status="notrun">
<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>Running main() from gmock_main.cc
Note: Google Test filter = A.Skips
[ RUN      ] A.Skips
a_test.cc:7: Skipped
No GPU here.

[  SKIPPED ] A.Skips (0 ms)
</system-out></testcase>"""
DISABLED = '<testcase name="A.Sleeps" status="disabled"/>'
NOT_BUILT = ('<testcase name="a_NOT_BUILT" status="notrun">'
             '<skipped message="Unable to find executable: a"/></testcase>')


def summarize(*cases, ctest_status=0):
    return summarize_tests.summarize(
        [ElementTree.fromstring(case) for case in cases], ctest_status)


class SummarizeTest(unittest.TestCase):

    def test_all_passed(self):
        self.assertEqual(summarize(PASSED, PASSED),
                         (["2 passed, 0 failed"], True))

    def test_failure_is_named(self):
        self.assertEqual(summarize(PASSED, FAILED, ctest_status=8), (
            ["failed: A.Fails: Timeout", "1 passed, 1 failed"], False))

    def test_skipped_test_gives_its_reason(self):
        self.assertEqual(summarize(PASSED, SKIPPED), (
            ["skipped: A.Skips: No GPU here.",
             "1 passed, 0 failed, 1 skipped"], True))

    def test_disabled_counts_as_skipped(self):
        self.assertEqual(summarize(DISABLED)[0], [
            "skipped: A.Sleeps: disabled", "0 passed, 0 failed, 1 skipped"])

    def test_test_that_was_not_built_failed(self):
        self.assertEqual(summarize(PASSED, NOT_BUILT, ctest_status=8), (
            ["failed: a_NOT_BUILT: Unable to find executable: a",
             "1 passed, 1 failed"], False))

    def test_failure_of_ctest_itself_counts(self):
        lines, well = summarize(ctest_status=8)
        self.assertEqual(lines[-1], "0 passed, 1 failed")
        self.assertFalse(well)


if __name__ == "__main__":
    unittest.main()
