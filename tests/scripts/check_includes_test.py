"""Tests of scripts/check_includes.py: tiny trees, one breach of each kind."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import check_includes  # noqa: E402 (the path comes first)

LAYERS = (PROJECT / "scripts/layers.txt").read_text(encoding="utf-8")
FOLDERS = check_includes.Table(LAYERS).folders
CORE = {"core/base", "core/json", "core/terminal", "core/random", "core/prob",
        "core/round", "core/device", "core/device/ranks", "core/ops", "core/model",
        "core/pack", "core/gguf",
        "core/checkpoint", "core/tokenizer", "core/transformer"}
# Decoding, and what it uses.
METHOD = {"decode", "drafters", "verifiers", "tree", "core/model",
          "core/random", "core/round", "core/prob", "core/base"}
ROOMS = {f"experiments/{room}" for room in (
    "records", "plan", "metrics", "report", "loading", "texts", "timing", "run",
    "proof", "makers")}

# Who may use whom, spelled out folder by folder, as docs/ says it.
MAY_USE = {
    "core/base": set(),
    "core/terminal": {"core/base"},
    "core/json": {"core/base"},
    "core/random": {"core/base"},
    "core/prob": {"core/base"},
    "core/round": {"core/prob", "core/base"},
    "core/device": {"core/base"},
    "core/device/ranks": {"core/base"},
    "core/ops": {"core/round", "core/device", "core/prob", "core/base"},
    "core/model": {"core/round", "core/prob", "core/base"},
    "core/pack": {"core/json", "core/base"},
    "core/gguf": {"core/pack", "core/json", "core/base"},
    "core/checkpoint": {"core/gguf", "core/pack", "core/json", "core/base"},
    "core/tokenizer": {"core/gguf", "core/json", "core/base"},
    "core/transformer": {"core/model", "core/checkpoint", "core/pack", "core/ops",
                         "core/device", "core/device/ranks", "core/round",
                         "core/prob", "core/base"},
    "tree": {"core/json", "core/terminal", "core/round", "core/prob", "core/base"},
    "drafters": {"tree"} | CORE - {"core/device", "core/device/ranks",
                                  "core/gguf", "core/pack", "core/terminal"},
    "verifiers": {"tree", "core/random", "core/round", "core/prob", "core/base"},
    "decode": METHOD - {"decode"},
    "configs/loader": {"core/base"},
    "experiments/records": {"core/base"},
    "experiments/plan": METHOD | {"configs/loader", "core/gguf", "core/json",
                                   "core/tokenizer"},
    "experiments/metrics": {"experiments/records", "core/random", "core/base"},
    "experiments/report": {"experiments/metrics", "experiments/plan",
                           "experiments/records", "configs/loader", "tree",
                           "core/json", "core/tokenizer", "core/terminal",
                           "core/base"},
    "experiments/loading": (METHOD - {"verifiers", "core/random"}) | {
        "experiments/plan", "configs/loader", "core/checkpoint", "core/device", "core/gguf",
        "core/pack", "core/ops", "core/device/ranks", "core/tokenizer",
        "core/transformer"},
    "experiments/texts": (METHOD - {"verifiers"}) | {
        "experiments/loading", "experiments/plan", "core/json",
        "core/tokenizer"},
    "experiments/run": METHOD | CORE | {
        "experiments/loading", "experiments/timing", "experiments/plan",
        "experiments/records", "experiments/metrics",
        "configs/loader"},
    "experiments/proof": METHOD | {"experiments/plan"},
    "experiments/timing": {"core/model", "core/ops", "core/device/ranks",
                           "core/round", "core/prob", "core/base"},
    "experiments/makers": (METHOD - {"verifiers"}) | {
        "experiments/loading", "experiments/timing", "experiments/plan",
        "experiments/metrics", "configs/loader", "core/checkpoint", "core/gguf", "core/pack",
        "core/json", "core/ops", "core/device/ranks"},
    "experiments/commands": METHOD | ROOMS | {
        "experiments/dist", "configs/loader", "core/checkpoint", "core/gguf", "core/json",
        "core/tokenizer", "core/terminal", "core/ops", "core/device/ranks"},
    "experiments/dist": set(),
    "experiments": {"experiments/commands"},
}
MAY_USE["examples"] = {
    "experiments/commands", "experiments/loading", "experiments/plan", "configs/loader", "drafters",
    "verifiers", "tree", "core/ops", "core/random", "core/prob", "core/base"}
MAY_USE["python/extension"] = {
    "experiments/commands", "experiments/metrics", "experiments/records", "drafters",
    "verifiers", "tree", "core/device/ranks", "core/model", "core/random",
    "core/round", "core/prob", "core/base"}
MAY_USE["tests"] = set(MAY_USE)


def found_in(files, layers):
    """What the check finds in a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {"scripts/layers.txt": layers, **files}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return check_includes.check(root)[1]


def breaches(files, layers=LAYERS):
    """The same, but for the patterns that have no file in so small a tree."""
    return [found for found in found_in(files, layers)
            if not found.startswith("scripts/layers.txt:")]


def include(header):
    return f'#include "{header}"\n'


class FoldersTest(unittest.TestCase):

    def test_table_is_the_one_of_the_docs(self):
        self.assertEqual(set(FOLDERS), set(MAY_USE))

    def test_every_pair_of_folders_is_judged_as_the_docs_say(self):
        for user, may_use in MAY_USE.items():
            for used in MAY_USE:
                with self.subTest(user=user, used=used):
                    found = breaches({f"{user}/a.cc": include(f"{used}/b.h"),
                                      f"{used}/b.h": ""})
                    lawful = used == user or used in may_use
                    self.assertEqual(len(found), 0 if lawful else 1, found)

    def test_breach_names_file_line_both_folders_and_the_rule(self):
        found = breaches({
            "verifiers/greedy.cc": '#include <vector>\n\n' +
                                   include("core/model/model.h"),
            "core/model/model.h": ""})
        self.assertEqual(found, [
            'verifiers/greedy.cc:3: verifiers may not use core/model '
            '("core/model/model.h"); scripts/layers.txt lets it use '
            'tree, core/random, core/round, core/prob, core/base'])

    def test_subfolder_belongs_to_its_folder(self):
        header = {"core/model/model.h": "", "drafters/drafter.h": ""}
        self.assertEqual([], breaches({
            "drafters/eagle/a.cc": include("core/model/model.h") +
                                   include("drafters/drafter.h"), **header}))
        self.assertEqual(1, len(breaches({
            "verifiers/pair/a.cc": include("core/model/model.h"), **header})))
        self.assertEqual(1, len(breaches({
            "decode/a.cc": include("configs/loader/deep/a.h"),
            "configs/loader/deep/a.h": ""})))

    def test_leave_is_not_inherited(self):
        found = breaches({"verifiers/a.cc": include("drafters/a.h"),
                          "drafters/a.h": include("core/transformer/a.h"),
                          "core/transformer/a.h": include("core/device/a.h"),
                          "core/device/a.h": ""})
        self.assertEqual(len(found), 1, found)

    def test_file_outside_the_table_is_a_breach(self):
        for path in ("gadgets/a.cc", "core/gadgets/a.h", "core/a.h", "a.cu",
                     "configs/a.cc"):
            with self.subTest(path=path):
                found = breaches({path: ""})
                self.assertEqual(len(found), 1, found)
                self.assertIn("no folder of scripts/layers.txt", found[0])

    def test_header_outside_the_table_is_a_breach(self):
        found = breaches({"tests/a.cc": include("core/gadgets/a.h"),
                          "core/gadgets/a.h": ""})
        self.assertTrue(any(f.startswith("tests/a.cc:1") for f in found), found)


class AloneTest(unittest.TestCase):

    def found(self, path, header="drafters/heads/eagle/heads.h"):
        return breaches({path: include(header), header: ""})

    def test_drafters_folder_is_used_by_itself_and_tests(self):
        for path in ("drafters/heads/eagle/heads.cc", "drafters/heads/eagle/deep/a.cc",
                     "tests/drafters/a.cc"):
            with self.subTest(path=path):
                self.assertEqual([], self.found(path))
        for path in ("drafters/text/ngram/ngram.cc", "drafters/heads/eagle_two/a.cc",
                     "drafters/catalogue.cc", "drafters/workbench.cc",
                     "decode/round.cc", "experiments/makers/grow/grow_model.cc"):
            with self.subTest(path=path):
                self.assertEqual([
                    f'{path}:1: drafters/heads/eagle stands alone '
                    '("drafters/heads/eagle/heads.h"); scripts/layers.txt lets only '
                    'tests use it'], self.found(path))

    def test_folder_below_one_that_stands_alone_is_part_of_it(self):
        header = "drafters/heads/eagle/deep/a.h"
        self.assertEqual([], self.found("drafters/heads/eagle/heads.cc", header))
        self.assertEqual(1, len(self.found("drafters/text/ngram/a.cc", header)))

    def test_what_lies_beside_them_is_open(self):
        self.assertEqual([], self.found("drafters/heads/eagle/a.cc",
                                        "drafters/workbench.h"))

    def test_wing_is_used_by_itself_and_who_is_above(self):
        header = "drafters/heads/shared.h"
        for path in ("drafters/heads/shared.cc", "drafters/heads/eagle/a.cc",
                     "experiments/makers/a.cc"):
            with self.subTest(path=path):
                self.assertEqual([], self.found(path, header))
        for path in ("drafters/text/a.cc", "drafters/text/ngram/a.cc",
                     "drafters/row.h", "drafters/catalogue.cc",
                     "drafters/workbench.cc", "decode/round.cc"):
            with self.subTest(path=path):
                self.assertEqual(1, len(self.found(path, header)))


class HeadersTest(unittest.TestCase):

    def assert_only_in(self, header, lawful, unlawful):
        for path in lawful + unlawful:
            for written in (f"<{header}>", f'"{header}"'):
                if "/" not in header and written[0] == '"':
                    continue
                with self.subTest(path=path, written=written):
                    found = breaches({path: f"#include {written}\n"})
                    self.assertEqual(len(found), path in unlawful, found)

    def test_yaml_stops_at_the_door(self):
        self.assert_only_in("yaml-cpp/yaml.h", ["configs/loader/a.cc"],
                            ["core/base/a.cc", "experiments/a.cc",
                             "tests/a.cc"])

    def test_jsons_library_stays_in_one_file(self):
        self.assert_only_in("nlohmann/json.hpp",
                            ["core/json/json_reader.cc", "tests/a.cc"],
                            ["core/base/a.cc", "core/checkpoint/a.cc",
                             "core/json/a.cc", "experiments/makers/grow/a.cc",
                             "experiments/report/a.cc",
                             "experiments/commands/a.cc",
                             "core/tokenizer/a.h", "tree/a.cc",
                             "drafters/heads/eagle/a.cc", "configs/loader/a.cc"])

    def test_protobuf_is_for_records(self):
        self.assert_only_in("google/protobuf/message.h",
                            ["experiments/records/a.cc",
                             "tests/experiments/a.cc"],
                            ["decode/a.cc", "tests/decode/a.cc",
                             "tests/experiments_old/a.cc"])

    def test_generated_header_needs_its_schema(self):
        schema = {"experiments/records/r.proto": ""}
        text = include("experiments/records/r.pb.h")
        self.assertEqual([],
                         breaches({"experiments/run/a.cc": text, **schema}))
        self.assertEqual(1, len(breaches({"experiments/run/a.cc": text})))
        self.assertEqual(1, len(breaches({"tests/tree/a.cc": text, **schema})))

    def test_cuda_types_end_in_core_device(self):
        for header in ("cuda.h", "cuda_runtime.h", "cublas_v2.h", "cublasLt.h",
                       "cuda/std/span", "cub/cub.cuh"):
            self.assert_only_in(header,
                                ["core/device/a.h", "core/ops/softmax_cuda.cu"],
                                ["core/ops/softmax.h", "core/ops/softmax.cu",
                                 "core/ops/softmax_cpu.cc", "core/model/a.cc",
                                 "tests/core/ops/a.cc"])

    def assert_ours_only_in(self, header, lawful, unlawful):
        for path in lawful + unlawful:
            with self.subTest(header=header, path=path):
                found = breaches({path: include(header), header: ""})
                self.assertEqual(len(found), path in unlawful, found)

    def test_backends_are_known_to_the_table_of_devices_alone(self):
        for header in ("core/ops/cpu/cpu_backend.h",
                       "core/ops/reference/reference_backend.h",
                       "core/ops/host/host.h", "core/ops/host/host_weight.h"):
            self.assert_ours_only_in(
                header, ["core/ops/devices.cc", "tests/core/ops/a.cc"],
                ["core/transformer/a.cc", "drafters/a.cc", "decode/a.cc",
                 "experiments/run/a.cc", "experiments/commands/a.cc"])

    def test_the_transformer_is_known_where_models_are_opened(self):
        for header in ("core/transformer/transformer.h",
                       "core/transformer/weights.h"):
            self.assert_ours_only_in(
                header, ["core/transformer/a.cc", "drafters/heads/eagle/a.cc",
                         "experiments/run/a.cc", "tests/decode/a.cc"],
                ["decode/a.cc", "core/model/a.cc", "experiments/makers/a.cc",
                 "experiments/commands/a.cc"])

    def test_test_libraries_stay_in_tests(self):
        for header in ("gtest/gtest.h", "gmock/gmock.h",
                       "benchmark/benchmark.h"):
            self.assert_only_in(header, ["tests/a.cc", "tests/tree/a.cc"],
                                ["tree/a.cc", "experiments/a.cc"])

    def test_command_line_library_stays_in_one_file(self):
        self.assert_only_in("CLI/CLI.hpp",
                            ["experiments/commands/shared/command_line.cc"],
                            ["experiments/main.cc", "experiments/commands/a.cc",
                             "configs/loader/a.cc", "tests/a.cc"])

    def test_chance_comes_from_core_base(self):
        self.assert_only_in("Random123/philox.h", ["core/base/a.cc"],
                            ["core/prob/a.cc", "verifiers/a.cc"])

    def test_headers_without_a_rule_are_free(self):
        self.assertEqual([], breaches({
            "core/base/a.cc": '#include <vector>\n#include <math.h>\n'
                              '#include "absl/types/span.h"\n'
                              '#include <sys/stat.h>\n'}))


class CallsTest(unittest.TestCase):

    def test_the_library_of_json_is_called_where_json_is_read(self):
        for line in ("auto a = Json::parse(text);", "  Json::accept (text);",
                     "return nlohmann::json::sax_parse(text, this);"):
            for path in ("core/json/a.cc", "tests/tree/a.cc"):
                with self.subTest(line=line, path=path):
                    self.assertEqual([], breaches({path: line + "\n"}))
            for path in ("experiments/plan/a.cc", "core/checkpoint/a.h",
                         "tree/a.cc"):
                with self.subTest(line=line, path=path):
                    found = breaches({path: line + "\n"})
                    self.assertEqual(len(found), 1, found)

    def test_breach_names_file_line_function_and_the_rule(self):
        self.assertEqual(
            breaches({"tree/a.cc": "\nauto a = Json::parse(text);\n"}),
            ["tree/a.cc:2: tree may not call parse(); scripts/layers.txt "
             "keeps it to core/json, tests"])

    def test_other_calls_of_the_name_and_comments_are_none(self):
        for line in ("app.parse(argc, argv);", "// Json::parse(text)",
                     "reader.Parse(text);", "Json::parse_error fault;"):
            with self.subTest(line=line):
                self.assertEqual([], breaches({"tree/a.cc": line + "\n"}))


class CirclesTest(unittest.TestCase):

    def test_units_of_an_ordered_folder_form_no_circle(self):
        layers = LAYERS.partition("[ordered]")[0] + "[ordered]\ncore/prob:\n"
        chain = {"core/prob/a.h": include("core/prob/b.h"),
                 "core/prob/a.cc": include("core/prob/a.h"),
                 "core/prob/b.h": "", "core/prob/b.cc": ""}
        self.assertEqual(breaches(chain, layers), [])
        ring = chain | {"core/prob/b.cc": include("core/prob/a.h")}
        self.assertEqual(len(breaches(ring, layers)), 1)
        self.assertIn("core/prob", breaches(ring, layers)[0])
        self.assertEqual(breaches(ring), [])


class PatternsTest(unittest.TestCase):

    LAYERS = ("[folders]\ncore/ops:\ndrafters:\n"
              "[headers]\ncore/ops/host*.h: core/ops\nhwy/*: core/ops\n"
              "[alone]\ndrafters/*: tests\n")

    def test_pattern_of_ours_without_a_file_is_a_breach_at_its_line(self):
        self.assertEqual(found_in({"core/ops/a.h": "", "drafters/a.h": ""},
                                  self.LAYERS),
                         ["scripts/layers.txt:5: no file of the project "
                          "matches core/ops/host*.h",
                          "scripts/layers.txt:8: no file of the project "
                          "matches drafters/*"])

    def test_pattern_with_a_file_is_none(self):
        self.assertEqual(found_in({"core/ops/host/host_weight.h": "",
                                   "drafters/eagle/a.h": ""}, self.LAYERS), [])


class SpellingTest(unittest.TestCase):

    def assert_breach(self, line, path="core/base/a.cc"):
        with self.subTest(line=line):
            found = breaches({path: line + "\n", "core/base/b.h": "",
                              "core/base/deep/c.h": ""})
            found = [f for f in found if f.startswith(path + ":1: ")]
            self.assertEqual(len(found), 1, found)

    def test_ours_is_written_from_the_root_with_quotes(self):
        for written in ('"b.h"', '"deep/c.h"', '"./b.h"', '"../base/b.h"',
                        '"core/../core/base/b.h"', '"core//base/b.h"',
                        '<core/base/b.h>', '"missing.h"'):
            self.assert_breach(f"#include {written}")

    def test_ours_exists(self):
        self.assert_breach('#include "core/base/missing.h"')
        self.assert_breach('#include "core/base"')

    def test_odd_spacing_hides_nothing(self):
        for line in ('  #  include   <gtest/gtest.h>',
                     '#include<gtest/gtest.h>',
                     '#include"gtest/gtest.h"  // why not',
                     '\t#\tinclude\t<gtest/gtest.h>'):
            self.assert_breach(line)

    def test_macro_for_a_header_is_a_breach(self):
        self.assert_breach("#include HEADER")

    def test_comments_are_not_read(self):
        self.assertEqual([], breaches({
            "core/base/a.cc": '// #include <gtest/gtest.h>\n'}))

    def test_every_kind_of_source_file_is_read(self):
        for ending in check_includes.SOURCE_ENDINGS:
            self.assert_breach("#include <gtest/gtest.h>", "tree/a" + ending)


class TreeTest(unittest.TestCase):

    def test_build_trees_and_hidden_folders_are_passed_over(self):
        self.assertEqual([], breaches({
            "build/a.cc": "", "out/a.cc": "", ".cache/a.cc": "",
            "elsewhere/CMakeCache.txt": "", "elsewhere/a.cc": ""}))

    def test_bad_table_is_refused_with_its_line(self):
        for text in ("core/base:\n", "[folders]\ncore/base\n",
                     "[folders]\na:\na:\n"):
            with self.subTest(text=text), self.assertRaisesRegex(
                    check_includes.TableError, r"layers.txt:\d+: "):
                breaches({}, layers=text)

    def test_program_fails_on_a_breach_and_on_an_empty_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def run():
                with contextlib.redirect_stdout(io.StringIO()), \
                     contextlib.redirect_stderr(io.StringIO()):
                    return check_includes.main([folder])

            self.assertEqual(run(), 2)  # No table.
            (root / "scripts").mkdir()
            (root / "scripts/layers.txt").write_text(
                "[folders]\ntree:\n[headers]\ngtest/*: tests\n")
            self.assertEqual(run(), 1)  # Nothing to check.
            (root / "tree").mkdir()
            (root / "tree/a.cc").write_text("#include <vector>\n")
            self.assertEqual(run(), 0)
            (root / "tree/a.cc").write_text("#include <gtest/gtest.h>\n")
            self.assertEqual(run(), 1)


if __name__ == "__main__":
    unittest.main()
