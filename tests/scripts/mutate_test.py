"""Tests of scripts/mutate: places on made-up sources, samples, claims, and one
whole run on a tree of one function that is tested and one that is not."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts/mutants"))
sys.dont_write_bytecode = True
import copy_tree  # noqa: E402 (the path comes first)
import mutant  # noqa: E402
import render  # noqa: E402
import report  # noqa: E402
import sample  # noqa: E402
import trial  # noqa: E402
try:
    import main  # noqa: E402
    import sites  # noqa: E402
except ModuleNotFoundError as missing:
    if missing.name != "clang":
        raise
    sites = None
    WHY = f"libclang for Python is not installed ({missing})"

# One header is written by the build, into a folder of the system's.
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)
add_custom_command(OUTPUT written/one.h COMMAND ${CMAKE_COMMAND} -E
  copy ${CMAKE_SOURCE_DIR}/one.in ${CMAKE_BINARY_DIR}/written/one.h)
add_library(banyan_records_proto STATIC one.cc written/one.h)
target_include_directories(banyan_records_proto SYSTEM PUBLIC
                           ${CMAKE_BINARY_DIR}/written)
add_subdirectory(small)
add_executable(small_test small_test.cc)
target_link_libraries(small_test small GTest::gtest_main)
gtest_discover_tests(small_test)
"""
SMALL = """#include <string>
#include <one.h>
static_assert(kOne == 1);
int Larger(int a, int b) {
  if (a < b) return b;
  return a;
}
int Untested(int a) { return a + 1; }
std::string Joined(std::string a, std::string b) { return a + b; }
"""
TEST = """#include <string>
#include "gtest/gtest.h"
int Larger(int a, int b);
std::string Joined(std::string a, std::string b);
TEST(Larger, IsEither) {
  EXPECT_EQ(Larger(1, 2), 2);
  EXPECT_EQ(Larger(2, 1), 2);
}
TEST(Joined, StandsInOrder) { EXPECT_EQ(Joined("a", "b"), "ab"); }
"""
TEST_OF_UNTESTED = """int Untested(int a);
TEST(Untested, AddsOne) { EXPECT_EQ(Untested(1), 2); }
"""
CLAIM = """# Mutants

## `small/small.cc`, `Larger`

```diff
- if (a < b) return b;
+ if (a <= b) return b;
```

Of equal numbers either is the larger.
"""


def found(source):
    """{kind: the changed texts} of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.cc"
        path.write_text(source, encoding="utf-8")
        mutants = sites.find_mutants("a.cc", str(path), source, ["-std=c++20"])
    kinds = {}
    for one in mutants:
        kinds.setdefault(one.kind, []).append(one.after)
    return kinds


def made(number, file="a.cc", start=0, end=1, **fields):
    fields = {"function": "F", "kind": "constant", "text": "2",
              "statement": False, "before": f"x{number}", "after": "y",
              **fields}
    return mutant.Mutant(file=file, start=start, end=end, number=1, **fields)


class SampleTest(unittest.TestCase):

    def draw(self, seed, groups, size=6):
        drawn = sample.Sample(groups, size, seed)
        drawn.fill()
        return drawn

    def test_paths_share_alike_and_the_seed_chooses(self):
        groups = {"a": [made(i) for i in range(20)],
                  "b": [made(i, file="b.cc") for i in range(2)]}
        one, same, other = (self.draw(seed, groups) for seed in (1, 1, 2))
        self.assertEqual([4, 2], list(map(len, one.taken.values())))
        self.assertEqual(one.taken, same.taken)
        self.assertNotEqual(one.taken["a"], other.taken["a"])

    def test_one_that_is_dropped_makes_room_for_the_next_of_its_path(self):
        groups = {"a": [made(i) for i in range(9)],
                  "b": [made(i, file="b.cc") for i in range(9)]}
        drawn = self.draw(1, groups)
        gone = drawn.taken["a"][0]
        drawn.drop(gone)
        new, = drawn.fill()
        self.assertEqual(("a.cc", 6), (new.file, drawn.count()))
        self.assertNotIn(gone, drawn.mutants())

    def test_the_longest_path_counts_a_file(self):
        paths = ["tree", "tree/optimize", "drafters/drafting.cc"]
        for name, group in (("tree/a.cc", "tree"), ("trees/a.cc", None),
                            ("tree/optimize/a.cc", "tree/optimize"),
                            ("drafters/drafting.cc", "drafters/drafting.cc")):
            self.assertEqual(sample.group_of(name, paths), group)


class ClaimsTest(unittest.TestCase):

    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mutants.md"
            path.write_text(text, encoding="utf-8")
            return sample.read_claims(path)

    def test_a_claim_names_its_mutant_and_its_reason(self):
        claim = ("small/small.cc", "Larger", "if (a < b) return b;",
                 "if (a <= b) return b;", 1)
        self.assertEqual(self.read(CLAIM), {
            claim: "Of equal numbers either is the larger."})

    def test_a_claim_without_reason_or_given_twice_is_refused(self):
        for text in (CLAIM.rpartition("\n\n")[0] + "\n\n", CLAIM + CLAIM[11:],
                     CLAIM.replace("`Larger`", "Larger")):
            with self.assertRaises(sample.ClaimError):
                self.read(text)

    def test_the_claims_of_this_project_stand_in_their_files(self):
        claims = sample.read_claims(PROJECT / "docs/mutants.md")
        self.assertGreater(len(claims), 0)
        for file, function, before, after, _ in claims:
            text = mutant.one_line((PROJECT / file).read_text("utf-8"))
            self.assertIn(before, text, f"{file}, {function}")
            self.assertNotEqual(before, after)


class RenderingTest(unittest.TestCase):

    def test_a_place_within_another_is_changed_in_its_sleeping_text_alone(self):
        inner = made(1, start=4, end=5, text="q")
        outer = made(2, start=0, end=6, text="g(p)")
        text = render.Rendering("f(a+p)", {3: inner, 7: outer}).text
        on = "::banyan_mutant::On"
        self.assertEqual(text.partition("\n")[2],
                         f"({on}(7) ? (g(p)) : (f(a+({on}(3) ? (q) : (p)))))")

    def test_the_smallest_place_is_blamed(self):
        inner = made(1, start=4, end=5, text="q")
        outer = made(2, start=0, end=6, text="g(p)")
        made_text = render.Rendering("f(a+p)", {3: inner, 7: outer})
        line = made_text.text.split("\n")[1]
        self.assertEqual(made_text.blamed(2, line.index("(q)") + 1), {3})
        self.assertEqual(made_text.blamed(2, line.index("g(p)") + 1), {7})


class ReportTest(unittest.TestCase):

    def test_the_score_is_of_those_that_change_behaviour(self):
        states = ["dead"] * 3 + ["living", "claimed", "unreached"]
        judged = [(made(i), "a", state, "") for i, state in enumerate(states)]
        lines, whole = report.report(judged, ["a"])
        self.assertEqual((whole.planted, whole.dead, whole.living,
                          whole.claimed, whole.score()), (6, 3, 2, 1, 60.0))
        self.assertIn("no test reaches it", "\n".join(lines))


@unittest.skipIf(sites is None, sites is None and WHY)
class TrialTest(unittest.TestCase):

    def ended_by(self, command):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
            program.chmod(0o755)
            return trial.run_tests(
                [trial.Test(str(program), "A.Test", folder)], 1)

    def test_a_script_that_starts_the_program_is_a_test(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "CTestTestfile.cmake").write_text(
                f"add_test(Uses python3 {folder}/uses.py {folder}/banyan)\n"
                f"add_test(Other python3 {folder}/other.py)\n")
            (folder / "uses.py").write_text(
                "import os, sys\nsys.exit(os.environ.get('BANYAN_MUTANT'))\n")
            uses, = trial.list_tests(folder)
            self.assertTrue(trial.run_tests([uses], 1).passed)
            ended = trial.run_tests([uses], 1, mutant=7)
        self.assertEqual((uses.name, pathlib.Path(uses.program).name),
                         ("Uses", "uses.py"))
        self.assertEqual((ended.passed, ended.test, ended.how),
                         (False, "Uses", "exit 1"))

    def test_a_crash_is_a_finding_and_an_end_from_outside_is_none(self):
        self.assertEqual(self.ended_by("exit 3").how, "exit 3")
        self.assertEqual(self.ended_by("kill -SEGV $$").how, "signal 11")
        for name in "HUP", "INT", "TERM":
            with self.assertRaisesRegex(trial.Interrupted, "program was ended"):
                self.ended_by(f"kill -{name} $$")


class CopyTest(unittest.TestCase):

    def test_two_at_once_do_not_share_a_copy(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            at = pathlib.Path(folder) / "copy"
            first = copy_tree.Copy(pathlib.Path(folder), at)
            with self.assertRaisesRegex(copy_tree.BuildError, "at work in"):
                copy_tree.Copy(pathlib.Path(folder), at)
            first.mark.close()
            copy_tree.Copy(pathlib.Path(folder), at).mark.close()


class PlacesTest(unittest.TestCase):

    def test_every_kind_is_found(self):
        kinds = found("""#include <algorithm>
            double G(double, double);
            int F(int n, double p, double q) {
              if (n == 2) return 0;
              n += 3;
              G(p, 4);
              return std::min(n, 5) < 6;
            }""")
        self.assertEqual(set(kinds), set(mutant.KINDS))
        self.assertIn("if (n != 2) return 0;", kinds["relation"])
        self.assertIn("return std::min(n, 5) <= 6;", kinds["relation"])
        self.assertIn("return std::min(n, 5) > 6;", kinds["relation"])
        self.assertIn("n -= 3;", kinds["operator"])
        self.assertIn("return std::min(n, 4) < 6;", kinds["constant"])
        self.assertEqual(["if (n == 2) ;", "(void)0;", "(void)0;"],
                         kinds["left out"])
        self.assertEqual(["return std::max(n, 5) < 6;"], kinds["min and max"])
        self.assertEqual(["G(4, p);", "G(q, 4);"], sorted(kinds["p and q"]))

    def test_constant_expressions_and_words_are_left_alone(self):
        self.assertEqual(found("""#include <array>
            #define BAD(x) x + 1
            int StrCat(int, int);
            constexpr int Three() { return 3; }
            int F(int n) {
              static_assert(1 < 2);
              constexpr int kTwo = 1 + 1;
              switch (n) { case 3: break; }
              for (int i : {n}) { if (i) continue; }
              return StrCat(kTwo, n + 2);
            }"""), {})

    def test_a_way_out_is_left_out_only_where_another_follows(self):
        self.assertEqual(found("""int F(int n, int m) {
              if (n) { return n; } else { return m; }
            }"""), {})

    def test_macros_show_what_they_are_given(self):
        kinds = found("""struct S { int operator*(); };
            S G(int);
            int BANYAN_RETURN_IF_ERROR(S);
            int F(int n) {
              BANYAN_RETURN_IF_ERROR(G(n + n));
              BANYAN_ASSIGN_OR_RETURN(int x, G(n * n));
              return x;
            }""")
        self.assertEqual(kinds, {
            "left out": [";"],
            "operator": ["BANYAN_RETURN_IF_ERROR(G(n - n));",
                         "BANYAN_ASSIGN_OR_RETURN(int x, G(n / n));"]})


@unittest.skipIf(sites is None, sites is None and WHY)
class WholeRunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("CMakeLists.txt", CMAKE)
        self.write("one.cc", "#include <one.h>\n")
        self.write("one.in", "constexpr int kOne = 1;\n")
        self.write("small/CMakeLists.txt",
                   "add_library(small small.cc)\n"
                   "target_link_libraries(small PRIVATE banyan_records_proto)\n")
        self.write("small/small.cc", SMALL)
        self.write("small_test.cc", TEST)
        self.write(".gitignore", "/build/\n")
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, name, text):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def run_it(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = main.main(["--root", str(self.root), "--paths", "small",
                                *arguments])
        return status, output.getvalue()

    def test_the_dead_are_counted_and_the_living_listed(self):
        status, output = self.run_it()
        self.assertEqual(status, 1)
        # a < b for a <= b lives; + for - compiles with numbers alone.
        self.assertIn("+ if (a <= b) return b;", output)
        self.assertEqual(output.count("no test reaches it:"), 3)  # Untested
        self.assertIn("1 others did not compile", output)
        self.assertIn("2 of 6 that change behaviour die; 0 cannot", output)
        # The dead are not tried again; a claim is counted apart.
        self.write("docs/mutants.md", CLAIM)
        self.write("small_test.cc", TEST + TEST_OF_UNTESTED)
        status, output = self.run_it("--again")
        self.assertEqual(status, 0)
        self.assertIn("3 mutants meet 3 tests", output)
        self.assertIn("5 of 5 that change behaviour die; 1 cannot", output)
        # A claim that a test refutes, and one that names nothing.
        entry = CLAIM[CLAIM.index("##"):]
        self.write("docs/mutants.md",
                   CLAIM + "\n" + entry.replace("a <= b", "a > b"))
        status, output = self.run_it("--again")
        self.assertEqual(status, 1)
        self.assertIn("Larger.IsEither: failed tells apart", output)
        self.write("docs/mutants.md",
                   CLAIM + "\n" + entry.replace("a <= b", "a == b"))
        status, output = self.run_it("--again")
        self.assertEqual(status, 1)
        self.assertIn("small/small.cc, Larger has no mutant", output)


if __name__ == "__main__":
    if sites is None:
        print(WHY, flush=True)
    result = unittest.main(exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped else 0)  # CTest takes 77 for skipped
