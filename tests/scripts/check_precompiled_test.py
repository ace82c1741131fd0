"""Tests of scripts/check_precompiled.py: files that lack an include or do not."""

import contextlib
import io
import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import check_precompiled  # noqa: E402 (the path comes first)


class CheckTest(unittest.TestCase):

    def check(self, text, **others):
        others = {f"{name}.h": other for name, other in others.items()}
        return [breach for breach in check_precompiled.check(
            {**others, "a.cc": text}) if breach.startswith("a.cc")]

    def test_a_name_needs_its_header(self):
        self.assertEqual(self.check("int a;\nstd::vector<int> b;\n"),
                         ["a.cc:2: std::vector needs #include <vector>"])
        self.assertEqual(self.check("#include <vector>\nstd::vector<int> b;"),
                         [])
        self.assertEqual(
            self.check("absl::NotFoundError(\n"), [
                "a.cc:1: absl::NotFoundError needs #include "
                "<absl/status/status.h>"])

    def test_a_header_of_ours_may_bring_it(self):
        for first in "<vector>", '"c.h"':
            self.assertEqual(self.check(
                '#include "b.h"\nstd::vector<int> b;', b=f"#include {first}\n",
                c="#include <vector>\n"), [])

    def test_the_umbrella_brings_what_it_includes_and_its_macros(self):
        umbrella = {"core/base/common.h": '#include "absl/strings/str_cat.h"\n'
                                          "#define BANYAN_RETURN_IF_ERROR(e) e\n"}
        uses = "absl::StrCat(1);\nBANYAN_RETURN_IF_ERROR(a);"
        self.assertEqual(list(check_precompiled.check(
            {**umbrella, "a.cc": '#include "core/base/common.h"\n' + uses})), [])
        self.assertEqual(sorted(check_precompiled.check({**umbrella, "a.cc": uses})), [
            "a.cc:1: absl::StrCat needs #include <absl/strings/str_cat.h>",
            "a.cc:2: BANYAN_RETURN_IF_ERROR needs #include <core/base/common.h>"])

    def test_headers_that_include_each_other_are_read_once(self):
        self.assertEqual(len(self.check(
            '#include "b.h"\nstd::set<int> b;', b='#include "c.h"\n',
            c='#include "b.h"\n')), 1)

    def test_words_are_no_uses_and_keep_their_lines(self):
        self.assertEqual(self.check('// std::map\n"std::set \\" std::set";\n'
                                    'R"x(std::array\n)" std::array)x";'), [])
        self.assertEqual(self.check('R"(\n\n)"; std::map<int, int> m;'),
                         ["a.cc:3: std::map needs #include <map>"])

    def test_longer_names_are_other_names(self):
        self.assertEqual(self.check("std::set_terminate(); std::max_align_t a; "
                                    "std::optional_thing b;"), [])

    def test_gmock_does_for_gtest_and_not_the_other_way(self):
        tests = "TEST(A, B) { EXPECT_EQ(1, 1); }"
        self.assertEqual(self.check("#include <gmock/gmock.h>\n" + tests), [])
        self.assertEqual(len(self.check(
            "#include <gtest/gtest.h>\nEXPECT_THAT(1, 1)")), 1)

    def test_every_precompiled_header_has_names(self):
        self.assertEqual(check_precompiled.unnamed(PROJECT), [])
        self.assertEqual(check_precompiled.precompiled(PROJECT),
                         set(check_precompiled.NAMES))

    def test_this_project_lacks_none(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_precompiled.main([])
        self.assertEqual((status, output.getvalue().splitlines()[:-1]), (0, []))


if __name__ == "__main__":
    unittest.main()
