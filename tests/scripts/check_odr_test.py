"""Tests of scripts/check_odr.py: tiny trees, one pair of definitions each."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import check_odr  # noqa: E402 (the path comes first)


def ours(text):
    return "namespace banyan {\n" + text + "\n}\n"


def names(text):
    return [name for name, _ in check_odr.types_in(text)]


class OdrTest(unittest.TestCase):

    def setUp(self):
        # A path that is not plain, as any clone's may be.
        made = tempfile.TemporaryDirectory(prefix="odr ä ")
        self.addCleanup(made.cleanup)
        self.root = pathlib.Path(made.name)

    def write(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")

    def types(self, files):
        """What the step that reads types finds wrong."""
        self.write(files)
        return check_odr.check_types(self.root, sorted(files))[1]

    def headers(self, files):
        """What the step that compiles headers finds wrong."""
        self.write(files)
        return check_odr.check_headers(
            self.root, [path for path in files if path.endswith(".h")])[1]


class TypesTest(OdrTest):

    def test_second_definition_is_named_with_both_places(self):
        found = self.types({"a/a.h": ours("struct Counts {\n int a; };"),
                            "b/b.h": "\n" + ours("class Counts { int b; };")})
        self.assertEqual(found, [
            "b/b.h:3: banyan::Counts is defined once more; first at a/a.h:2"])

    def test_every_pair_of_files_counts(self):
        for one, other in (("a.h", "b.cc"), ("a.cc", "b.cc"), ("a.cu", "b.h"),
                           ("tests/a_test.cc", "tests/b_test.cc")):
            with self.subTest(one=one, other=other):
                self.assertEqual(1, len(self.types({
                    one: ours("struct T {};"), other: ours("struct T {};")})))

    def test_every_kind_of_type_is_read(self):
        for text in ("struct T {", "class T : public B<int> {", "union T {",
                     "enum T {", "enum class T : char {", "class T final {",
                     "template <class T1, int n = (1 > 0)>\nstruct T {",
                     "struct [[nodiscard]] alignas(8) T {", "class ABSL_X T {",
                     "constexpr struct T {", "typedef struct T {"):
            with self.subTest(text=text):
                self.assertEqual(names(ours(text + "};")), ["banyan::T"])

    def test_a_name_is_qualified_however_it_is_written(self):
        for text in ("namespace a::b { struct T {}; }",
                     "namespace a { inline namespace b { struct T {}; } }",
                     "namespace a { struct b::T {}; }",
                     'extern "C" { namespace a::b { struct T {}; } }'):
            with self.subTest(text=text):
                self.assertEqual(names(text), ["a::b::T"])
        self.assertEqual(names("template <> struct T<int, 2> {};"),
                         ["T<int,2>"])

    def test_what_has_no_linkage_or_is_no_definition_is_left_alone(self):
        for text in ("namespace { struct T {}; }", "struct T;", "enum T : int;",
                     "namespace { namespace deep { struct T {}; } }",
                     "void F() { struct T {}; }", "struct T F() { return {}; }",
                     "auto f = G([] { struct T {}; });", "struct { int a; } t;",
                     "struct T t = {};", "void F(struct T* t) {}",
                     "template <class T> void F() {}"):
            with self.subTest(text=text):
                self.assertEqual(names(ours(text)), [])

    def test_a_type_within_a_type_is_part_of_it(self):
        self.assertEqual(names("struct A { struct T {}; };"), ["A"])
        self.assertEqual([], self.types({
            "a.h": "struct A { struct T {}; };",
            "b.h": "struct B { struct T {}; };"}))

    def test_what_is_no_code_hides_and_shows_nothing(self):
        for text in ("// {", "/* { */", 'char a[] = "{";', "char a = '{';",
                     "char a = '\\'';", 'char a[] = R"x({ " )" {)x";',
                     "#define A {\n", "#define A \\\n  {\n", "int a = 1'000;",
                     "// struct U {};", 'char a[] = "struct U {};";'):
            with self.subTest(text=text):
                self.assertEqual(names(text + "\nstruct T {};"), ["T"])

    def test_lines_are_those_of_the_file(self):
        text = ('/* a\n b */\nchar a[] = R"(\n\n)";\n'
                "#define A \\\n B\nstruct T {};")
        self.assertEqual(check_odr.types_in(text), [("T", 8)])

    def test_braces_that_do_not_pair_are_told(self):
        for text in ("struct T {", "struct T {};\n}"):
            with self.subTest(text=text):
                found = self.types({"a.h": text})
                self.assertEqual(len(found), 1, found)
                self.assertIn("a.h:1: a brace", found[0])


class HeadersTest(OdrTest):

    def test_headers_that_go_together_pass(self):
        self.assertEqual([], self.headers({
            "a/a.h": "#pragma once\n" +
                     ours("struct A {};\ninline int F(A) { return 1; }"),
            "b/b.h": '#include "a/a.h"\n' +
                     ours("struct B { A a; };\ninline int F(B) { return 2; }")
        }))

    def test_second_definition_of_anything_is_an_error(self):
        for one, other in (
                ("struct T { int a; };", "struct T { double a; };"),
                ("struct T { int a = 0; };", "struct T { int a = 1; };"),
                ("struct T {};", "using T = int;"),
                ("using T = int;", "using T = long;"),
                ("enum A { kT };", "enum B { kT };"),
                ("inline constexpr int T = 1;", "inline constexpr int T = 2;"),
                ("inline int T() { return 1; }",
                 "inline int T() { return 2; }"),
                ("template <class X> int T(X) { return 1; }",
                 "template <class X> int T(X) { return 2; }")):
            with self.subTest(one=one, other=other):
                found = self.headers({"a/a.h": ours(one), "b/b.h": ours(other)})
                self.assertEqual(len(found), 1, found)
                self.assertIn("b/b.h:2:", found[0])

    def test_messages_of_a_schema_are_definitions(self):
        schema = {"experiments/r.proto": 'syntax = "proto3";\npackage banyan;\n'
                                         "message Cell { int32 a = 1; }\n",
                  "a/a.h": '#include "experiments/r.pb.h"\n'}
        self.assertEqual([], self.headers(schema))
        found = self.headers({**schema, "b/b.h": ours("struct Cell {};")})
        self.assertEqual(len(found), 1, found)

    def test_headers_of_one_instruction_set_are_left_out(self):
        self.assertEqual([], self.headers({"a/a.h": "struct T {};",
                                           "a/b-inl.h": "struct T {};"}))


class ProgramTest(OdrTest):

    def main(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            return check_odr.main([str(self.root)]), printed.getvalue()

    def test_counts_what_it_read(self):
        self.write({"a/a.h": "struct A {};", "a/b-inl.h": "struct B {};",
                    "b/c.cc": "namespace { struct A {}; }"})
        self.assertEqual(self.main(), (
            0, "3 files, 2 types, 1 headers compiled together: "
               "one definition a name\n"))

    def test_fails_on_either_step_and_on_an_empty_tree(self):
        self.assertEqual(self.main()[0], 1)
        self.write({"a/a.h": "struct A {};\ninline void F() {}"})
        self.assertEqual(self.main()[0], 0)
        self.write({"a/b.cc": "struct A {};"})
        self.assertEqual(self.main()[0], 1)
        self.write({"a/b.cc": ""})
        self.assertEqual(self.main()[0], 0)
        self.write({"a/b.h": "inline void F() {}"})
        self.assertEqual(self.main()[0], 1)


if __name__ == "__main__":
    unittest.main()
