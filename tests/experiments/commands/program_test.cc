// The program as a user meets it: exit codes, messages with their place, JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Writes a file and runs a command on it.
Outcome RunOn(const std::string& command, const std::string& text) {
  return RunProgram(command + " " + WriteTestFile(text));
}

constexpr char kTables[] =
    "vocab: 2\n"
    "horizon: 2\n"
    "target: {start: [0.4, 0.6], next: [[0.3, 0.7], [0.8, 0.2]]}\n"
    "drafters: [{start: [0.5, 0.5], next: [[0.5, 0.5], [0.9, 0.1]]}]\n";

constexpr char kMethod[] =
    "policy: {name: chain, nodes: 2}\n"
    "verifier: {name: leviathan}\n";

std::string Good() { return std::string(kTables) + kMethod; }

// The good file with one text in the place of another.
std::string With(const std::string& from, const std::string& to) {
  std::string text = Good();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void ExpectRefused(const std::string& text, const std::string& place,
                   const std::string& reason) {
  const Outcome outcome = RunOn("exact", text);
  EXPECT_EQ(outcome.code, 2) << text << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr(".yaml:" + place + ": "), HasSubstr(reason)))
      << text;
}

// Every key of every part is documented where it is read.
TEST(Program, ListsEveryKeyWithASentence) {
  const Outcome outcome = RunProgram("list --json");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output);
  int keys = 0;
  for (const char* catalogue : {"drafters", "policies", "verifiers"})
    for (const auto& row : json.at(catalogue))
      for (const auto& key : row.at("keys")) {
        ++keys;
        EXPECT_FALSE(key.at("sentence").get<std::string>().empty())
            << row.at("name") << ": " << key;
        EXPECT_FALSE(key.at("type").get<std::string>().empty()) << key;
      }
  EXPECT_GE(keys, 100);
}

TEST(Program, ListsOnePartWithItsKeys) {
  const Outcome outcome = RunProgram("list ngram");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("ngram (drafter)"),
                    HasSubstr("max_order  The longest gram"),
                    HasSubstr("[int, 2 to 8; 4]"),
                    HasSubstr("{name: ngram, max_order: 3, history: 4}"),
                    Not(HasSubstr("suffix"))));
  const Outcome other = RunProgram("list ngrm");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("did you mean 'ngram'?"));
}

TEST(Program, ListsEveryCatalogueAsJson) {
  const Outcome outcome = RunProgram("list --json");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output);
  std::vector<std::string> catalogues;
  for (const auto& [catalogue, rows] : json.items()) {
    catalogues.push_back(catalogue);
    std::set<std::string> names;
    for (const auto& row : rows) {
      names.insert(row.at("name").get<std::string>());
      EXPECT_FALSE(row.at("sentence").get<std::string>().empty()) << row;
    }
    EXPECT_GE(names.size(), 3) << catalogue;
    EXPECT_EQ(names.size(), rows.size()) << catalogue << " has a name twice";
  }
  EXPECT_THAT(catalogues, ElementsAre("controls", "devices", "drafters",
                                      "metrics", "model families", "policies",
                                      "presets", "verifiers"));
  EXPECT_EQ(json.at("devices").at(0).at("name"), "cpu");
  EXPECT_FALSE(json.at("devices").at(0).at("instruction_sets").empty());
  for (const auto& row : json.at("verifiers")) {
    EXPECT_FALSE(row.at("sentence").get<std::string>().empty());
    EXPECT_FALSE(row.at("draws").empty());
    EXPECT_TRUE(row.contains("exactness"));
  }
}

// Enumeration also works with paths scored apart, and gives the same
// distribution.
TEST(Program, GivesTheLawOfUnmergedTrees) {
  std::ifstream file("configs/exact/tree_multi_round.yaml");
  const std::string tree((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  const auto merged = nlohmann::json::parse(RunOn("exact --json", tree).output);
  const auto unmerged = nlohmann::json::parse(
      RunOn("exact --json", tree + "score: unmerged\n").output);
  EXPECT_LE(unmerged.at("max_abs_error").get<double>(), 1e-12);
  for (const char* key : {"distribution", "branches", "acceptance_per_depth"})
    EXPECT_EQ(unmerged.at(key), merged.at(key)) << key;
}

// In the record of the folder where it is called.
TEST(Program, RecordsWhatItProved) {
  const std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / "Program_Records";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "decode");
  const std::string file =
      std::filesystem::absolute(WriteTestFile(Good())).string();
  const auto record = [&](const std::string& path) {
    return RunProgram("exact --record " + path, root.string());
  };
  EXPECT_THAT(record(file).output,
              HasSubstr("decode/proofs.txt: No such file or directory"));
  const auto read = [&] {
    std::ifstream in(root / "decode/proofs.txt");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto write = [&](const std::string& text) {
    std::ofstream(root / "decode/proofs.txt") << text;
  };
  write("# head\nmatch policy chain 64 0a.0b.0c the test suite\n");
  EXPECT_EQ(record(file).code, 0) << record(file).output;
  const std::string once = read();
  EXPECT_THAT(once, AllOf(HasSubstr("# head\nmatch policy chain 64 0a.0b.0c"),
                          HasSubstr("banyan exact " + file)));
  EXPECT_THAT(record(file).output, testing::Not(HasSubstr("recorded ")));
  EXPECT_EQ(read(), once);
  // A line of other sources gives way.
  write("leviathan policy chain 64 0a.0b.0c the test suite\n");
  EXPECT_EQ(record(file).code, 0);
  EXPECT_THAT(read(), testing::Not(HasSubstr("leviathan policy chain 64")));
  const std::string lossy =
      WriteTestFile(With("leviathan", "typical"), ".lossy.yaml");
  EXPECT_THAT(record(std::filesystem::absolute(lossy).string()).output,
              HasSubstr("expected a method that claims to be lossless"));
}

TEST(Program, GivesTheLawAsJson) {
  const Outcome outcome = RunOn("exact --json", Good());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output);
  EXPECT_LE(json.at("max_abs_error").get<double>(), 1e-12);
  EXPECT_TRUE(json.at("lossless_claimed").get<bool>());
  EXPECT_NEAR(json.at("target_distribution").at("0,1").get<double>(), 0.4 * 0.7,
              1e-15);
  EXPECT_EQ(json.at("distribution").size(), 4u);
  EXPECT_EQ(json.at("trunks").at(0).at("draws"), "independent");
  double tokens = 1;
  for (const auto& depth : json.at("acceptance_per_depth"))
    tokens += depth.get<double>();
  EXPECT_NEAR(json.at("expected_tokens_per_round").get<double>(), tokens,
              1e-12);
}

TEST(Program, EnumeratesRoundsTogether) {
  const auto branches = [](const std::string& more) {
    const Outcome outcome = RunOn("exact --json", Good() + more);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    const auto json = nlohmann::json::parse(outcome.output);
    EXPECT_LE(json.at("max_abs_error").get<double>(), 1e-12);
    return json.at("branches").get<int>();
  };
  EXPECT_GT(branches("rounds_together: 2\n"), branches(""));
  ExpectRefused(Good() + "rounds_together: -1\n", "7:18", "at least 0");
}

TEST(Program, EnumeratesDraftersOfTheCatalogue) {
  const std::string file =
      "vocab: 2\nhorizon: 3\n"
      "target: {start: [0.4, 0.6], next: [[0.3, 0.7], [0.8, 0.2]]}\n"
      "drafters: [{name: ngram}]\npolicy: {name: chain, nodes: 2}\n"
      "verifier: {name: multi_round}\n";
  const Outcome outcome = RunOn("exact --json", file);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output);
  EXPECT_LE(json.at("max_abs_error").get<double>(), 1e-12);
  EXPECT_GE(json.at("expected_tokens_per_round").get<double>(), 1);
}

TEST(Program, SaysWhoRunsPartsInPython) {
  ExpectRefused(With("{name: leviathan}", "{python: 'mine:Careful'}"), "6:12",
                "a class of Python; `python -m banyan` runs it");
}

TEST(Program, RefusesBadRowsWithTheirPlace) {
  ExpectRefused(With("start: [0.4, 0.6]", "start: [0.4, 0.5]"), "3:17",
                "sum to 1");
  ExpectRefused(With("start: [0.4, 0.6]", "start: [0.4, 0.6, 0.0]"), "3:17",
                "expected 2 probabilities");
  ExpectRefused(With("[0.3, 0.7]", "[-0.3, 1.3]"), "3:37", "-0.3");
  ExpectRefused(With("[0.3, 0.7]", "[.nan, 0.7]"), "3:37", "finite number");
  ExpectRefused(With("[[0.3, 0.7], [0.8, 0.2]]", "[[0.3, 0.7]]"), "3:35",
                "expected 2 rows");
}

TEST(Program, RefusesUnknownNamesAndKeysWithTheNearestKnown) {
  ExpectRefused(With("name: leviathan", "name: leviatan"), "6:18",
                "did you mean 'leviathan'?");
  ExpectRefused(With("name: chain", "name: chian"), "5:16",
                "did you mean 'chain'?");
  ExpectRefused(With("nodes: 2", "nods: 2"), "5:23", "did you mean 'nodes'?");
  ExpectRefused(With("horizon: 2", "horizont: 2"), "2:1",
                "did you mean 'horizon'?");
  ExpectRefused(With("name: leviathan", "name: bild, rolback: 2"), "6:24",
                "did you mean 'rollback'?");
  ExpectRefused(With("name: leviathan", "name: top_beta, betta: 2"), "6:28",
                "did you mean 'beta'?");
  ExpectRefused(Good() + "control: merged_duplicate\n", "7:10",
                "did you mean 'merged_duplicates'?");
}

TEST(Program, RefusesWhatCannotBe) {
  ExpectRefused(With("horizon: 2", "horizon: 0"), "2:10", "at least 1");
  ExpectRefused(With("nodes: 2", "nodes: -1"), "5:30", "nodes");
  ExpectRefused(With("name: leviathan", "name: bild, rollback: -1"), "6:34",
                "'rollback' must not be negative");
  ExpectRefused(With("name: leviathan", "name: top_beta, beta: 0"), "6:34",
                "'beta' must be at least 1");
  ExpectRefused(With("name: chain", "name: adaptive_chain, goal: 1"), "5:38",
                "'goal' must lie in (0, 1)");
  ExpectRefused(With("nodes: 2", "nodes: 2, draws: sampled"), "5:40",
                "unknown draw kind 'sampled'");
  ExpectRefused(With("vocab: 2", "vocab: 2\nvocab: 2"), "2:1", "vocab");
  ExpectRefused(Good() + "max_branches: 10\n", "7:15", "max_branches = 10");
  ExpectRefused(Good() + "trunks: [{drafter: 1}]\n", "7:20",
                "one of the 1 drafters");
}

// Nothing that was asked for is dropped without a word.
TEST(Program, RefusesAPolicyWithoutDrafters) {
  ExpectRefused(
      "vocab: 1\nhorizon: 1\ntarget: {start: [1], next: [[1]]}\n"
      "policy: {name: chain, nodes: 1}\nverifier: {name: match}\n",
      "4:9", "needs 'drafters'");
}

TEST(Program, RefusesUnlawfulCombinationsNamingBoth) {
  ExpectRefused(
      With("name: chain, nodes: 2", "name: expansion, branching: [2]"), "6:11",
      "verifier leviathan does not go with policy expansion");
  ExpectRefused(With("name: leviathan", "name: greedy"), "6:11",
                "verifier greedy does not go with sampling at temperature 1");
}

TEST(Program, NamesAMissingFile) {
  const Outcome outcome = RunProgram("exact no_such_file.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("no_such_file.yaml"));
}

TEST(Program, ReadsAStreamThatItIsGiven) {
  const std::string file = WriteTestFile(Good());
  const std::string law = RunProgram("exact " + file).out;
  EXPECT_THAT(law, HasSubstr("leviathan"));
  EXPECT_EQ(RunProgram("exact /dev/stdin <" + file).out, law);
  EXPECT_EQ(RunProgram("exact /dev/fd/3 3<" + file).out, law);
}

TEST(Program, WaitsForNoPipe) {
  const std::string pipe = WriteTestFile("", "") + "_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome outcome = RunProgram("exact " + pipe);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "banyan: " + pipe + ": expected an ordinary file, found a pipe\n");
}

TEST(Program, DrawsATree) {
  const std::string svg = testing::TempDir() + "/program_test.svg";
  const Outcome outcome =
      RunProgram("tree configs/tree/sequoia.yaml --json --svg " + svg);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json.at("parents").size(), 25u);
  EXPECT_EQ(json.at("parents").at(0), -1);
  EXPECT_EQ(json.at("rank").at(0), 0);
  EXPECT_EQ(json.at("rank").at(1), 1);
  // The README shows this picture.
  std::string drawn[2];
  for (int i = 0; const std::string& path :
                  {svg, std::string("docs/images/sequoia.svg")}) {
    std::ifstream file(path);
    drawn[i++] = {std::istreambuf_iterator<char>(file), {}};
  }
  EXPECT_THAT(drawn[0], StartsWith("<svg "));
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST(Program, RunsTheExampleExperiment) {
  const std::string out = testing::TempDir() + "/program_test_example";
  std::filesystem::remove_all(out);
  const Outcome outcome =
      RunProgram("run examples/experiment/experiment.yaml --out " + out);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Fastest lossless method: "));
}

TEST(Program, TakesTheOptimisersKeysBesideThePolicyToo) {
  const Outcome inside =
      RunOn("tree --json",
            "policy: {name: sequoia, acceptance: [0.6, 0.2], nodes: 6}\n");
  const Outcome beside =
      RunOn("tree --json",
            "policy: {name: sequoia}\nacceptance: [0.6, 0.2]\nnodes: 6\n");
  ASSERT_EQ(inside.code, 0) << inside.output;
  EXPECT_EQ(inside.output, beside.output);
}

TEST(Program, RefusesImpossibleTrees) {
  for (const char* text :
       {"policy: {name: sequoia, acceptance: [0.9, 0.3], nodes: 4}\n",
        "policy: {name: sequoia, acceptance: [0.6], nodes: -1}\n",
        "policy: {name: best_first, most_draws: 4}\n",
        "policy: {name: static, paths: [[0, 0]]}\n",
        "policy: {name: sequoia, acceptance: [0.6], nodes: 8, "
        "target_ms: {1: 10, 4: 11}}\n"}) {
    const Outcome outcome = RunOn("tree", text);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.output, HasSubstr(".yaml:1:")) << text;
    EXPECT_THAT(outcome.output, Not(HasSubstr("terminate"))) << text;
  }
}

}  // namespace
}  // namespace banyan
