// banyan measure of drafters, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Costs Load(const std::string& path) {
  const auto file = LoadYamlFile(path);
  EXPECT_TRUE(file.ok()) << file.status();
  absl::StatusOr<Costs> costs =
      file.ok() ? ReadCosts(*file) : absl::StatusOr<Costs>(file.status());
  EXPECT_TRUE(costs.ok()) << costs.status();
  return costs.ok() ? *std::move(costs) : Costs();
}

// What the command writes of a preset on the shipped target. Passes are of one
// size and chains short, since only counts are looked at.
Costs Measured(const std::string& method, const std::string& more) {
  const std::string path = WriteTestFile("", ".yaml");
  const Outcome outcome = RunProgram(absl::StrCat(
      "measure configs/methods/", method,
      ".yaml --model models/pycode-target --batch 1,17 --rounds 1 --levels 4 "
      "--workload experiments/workloads/pycode.jsonl ",
      more, " --out ", path));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Load(path);
}

const AcceptanceTable* TableOf(const Costs& costs, const std::string& label) {
  return BestAcceptance(costs, {.drafter = {.label = label}});
}

// The shipped numbers were counted at other draws of the same methods: each
// share lies within four standard deviations of the difference.
void ExpectAlike(const AcceptanceTable& again, const AcceptanceTable& shipped) {
  const CandidateCounts& a = again.counts.at(0);
  const CandidateCounts& b = shipped.counts.at(0);
  ASSERT_EQ(a.judged.size(), b.judged.size());
  for (std::size_t rank = 0; rank < a.judged.size(); ++rank) {
    const auto trials = [](std::int64_t n) { return static_cast<double>(n); };
    const double all = trials(a.accepted[rank] + b.accepted[rank]) /
                       trials(a.judged[rank] + b.judged[rank]);
    const double deviation =
        std::sqrt(all * (1 - all) *
                  (1 / trials(a.judged[rank]) + 1 / trials(b.judged[rank])));
    EXPECT_NEAR(trials(a.accepted[rank]) / trials(a.judged[rank]),
                trials(b.accepted[rank]) / trials(b.judged[rank]),
                4 * deviation)
        << "rank " << rank + 1;
  }
}

TEST(MeasureDrafters, CountsWhatShipsForThePresets) {
  const Costs shipped = Load("configs/costs/2m.yaml");
  const std::pair<const char*, const char*> kRows[] = {
      {"sequoia", "pycode-draft-1"},
      {"sequoia_boosted", "pycode-draft-2"},
      {"eagle_sequoia", "pycode-eagle3"},
      {"medusa", "pycode-medusa"}};
  for (const auto& [method, label] : kRows) {
    SCOPED_TRACE(method);
    const Costs again =
        Measured(method, "--prompts 24 --max-new-tokens 32 --temperature 1");
    ASSERT_NE(TableOf(again, label), nullptr);
    EXPECT_EQ(TableOf(again, label)->drafters,
              TableOf(shipped, label)->drafters);
    EXPECT_GT(TableOf(again, label)->rounds, 300);
    ExpectAlike(*TableOf(again, label), *TableOf(shipped, label));
    EXPECT_EQ(TableOf(again, label)->counts.back().depth, 4) << "its chain's";
  }
}

TEST(MeasureDrafters, MeasuresPassesLevelsAndHeads) {
  const Costs costs =
      Measured("medusa", "--prompts 2 --max-new-tokens 24 --width 3");
  ASSERT_EQ(costs.passes.size(), 1U);
  EXPECT_EQ(costs.passes[0].setting.target, "pycode-target");
  EXPECT_EQ(costs.passes[0].setting.weights, "bf16");
  // The two sizes, and that of the chain whose level is timed.
  EXPECT_EQ(costs.passes[0].ms.size(), 3U);
  EXPECT_THAT(
      costs.passes[0].from.source,
      AllOf(HasSubstr("2 prompts of "), HasSubstr(", at most 24 tokens each")));
  EXPECT_EQ(costs.passes[0].from.date.size(), 10U);
  ASSERT_EQ(costs.levels.size(), 1U);
  EXPECT_EQ(costs.levels[0].drafter, "pycode-medusa");
  EXPECT_GT(costs.levels[0].ms, 0);
  ASSERT_EQ(costs.heads.size(), 1U);
  ASSERT_EQ(costs.heads[0].hits.size(), 4U);
  for (const std::vector<std::int64_t>& hits : costs.heads[0].hits)
    EXPECT_EQ(hits.size(), 3U);
  // The first head has a position for every round, the last for fewer.
  EXPECT_GT(costs.heads[0].positions[0], costs.heads[0].positions[3]);
}

// Of drafters that draft together: who is judged, and who else proposed it.
TEST(MeasureDrafters, CountsMergedCandidates) {
  const Costs costs = Measured(
      "merged_heads", "--prompts 2 --max-new-tokens 24 --temperature 0");
  std::vector<std::size_t> sizes;
  for (const AcceptanceTable& table : costs.acceptance)
    sizes.push_back(table.drafters.size());
  EXPECT_THAT(sizes, ElementsAre(1, 1, 1, 1, 4));
  const AcceptanceTable& merged = costs.acceptance.back();
  std::int64_t judged = 0;
  std::int64_t accepted = 0;
  bool shared = false;
  for (const CandidateCounts& one : merged.counts) {
    shared = shared || !one.also.empty();
    if (one.depth != 1) continue;
    for (const std::int64_t count : one.judged) judged += count;
    for (const std::int64_t count : one.accepted) accepted += count;
  }
  EXPECT_TRUE(shared);
  EXPECT_GE(judged, merged.rounds) << "a first draw in every round";
  EXPECT_LE(accepted, merged.rounds) << "one at most in a round";
  EXPECT_GT(accepted, 0);
}

// A head's candidates are its likeliest tokens in their order, whatever kind of
// draws its method has.
TEST(MeasureDrafters, CountsTheSameHeadsWhateverAMethodDraws) {
  const std::string method = WriteTestFile(
      absl::StrCat("models: {heads: {heads: ",
                   std::filesystem::absolute("models/pycode-medusa").string(),
                   "}}\ndrafters: [{name: medusa, heads: heads}]\n"
                   "policy: {name: chain, nodes: 4, draws: independent}\n"
                   "verifier: {name: multi_round}\n"),
      ".yaml");
  const auto heads = [&](const std::string& draws) {
    const std::string out = WriteTestFile("", ".out.yaml");
    const Outcome outcome = RunProgram(absl::StrCat(
        "measure ", method,
        " --model models/pycode-target --batch 1 --rounds 1 --levels 2 "
        "--prompts 3 --max-new-tokens 24 --temperature 1 --workload "
        "experiments/workloads/pycode.jsonl --set methods.*.policy.draws=",
        draws, " --out ", out));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Costs costs = Load(out);
    EXPECT_EQ(costs.heads.size(), 1U);
    EXPECT_EQ(costs.acceptance.at(0).drafters.at(0).draws, draws);
    return costs.heads.empty() ? HeadTable() : costs.heads[0];
  };
  const HeadTable ranked = heads("deterministic");
  const HeadTable drawn = heads("independent");
  EXPECT_EQ(drawn.positions, ranked.positions);
  EXPECT_EQ(drawn.hits, ranked.hits);
  EXPECT_GT(ranked.hits.at(0).at(0), ranked.hits.at(0).at(3));
}

// At temperature 0 the draws of both methods are the likeliest tokens: rounds
// that are the same count once.
TEST(MeasureDrafters, CountsEachTreeOnce) {
  const auto measured = [](const std::string& methods) {
    const std::string file = WriteTestFile(
        absl::StrCat(
            "question: q\ntarget: {directory: ",
            std::filesystem::absolute("models/pycode-target").string(),
            "}\nworkload: {file: ",
            std::filesystem::absolute("experiments/workloads/pycode.jsonl")
                .string(),
            ", prompts: 2}\nlimits: {max_new_tokens: 16}\n"
            "sampling: {temperature: 0}\nmethods:\n",
            methods),
        ".yaml");
    const std::string out = WriteTestFile("", ".out.yaml");
    const Outcome outcome = RunProgram(absl::StrCat(
        "measure ", file, " --batch 1 --rounds 1 --levels 3 --out ", out));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Load(out);
  };
  const std::string presets =
      std::filesystem::absolute("configs/methods").string();
  const std::string one =
      absl::StrCat("  a: {preset: ", presets, "/chain.yaml}\n");
  const Costs once = measured(one);
  const Costs both = measured(
      absl::StrCat(one, "  b: {preset: ", presets, "/sequoia.yaml}\n"));
  ASSERT_EQ(once.acceptance.size(), 1U);
  ASSERT_EQ(both.acceptance.size(), 1U);
  EXPECT_EQ(both.acceptance[0].rounds, once.acceptance[0].rounds);
  EXPECT_EQ(both.levels.size(), 1U);
  // Two sizes of a merged tree are two trees.
  const std::string merged = absl::StrCat(
      "  m:\n    preset: ", presets, "/merged_heads.yaml\n", "    trunks:\n");
  const auto trunks = [](int nodes) {
    std::string text;
    for (int i = 0; i < 4; ++i)
      absl::StrAppend(&text, "      - {drafter: ", i,
                      ", policy: {name: chain, nodes: ", nodes, "}}\n");
    return text;
  };
  const auto rounds = [&](const std::string& methods) {
    return measured(methods).acceptance.back().rounds;
  };
  const std::string short_one = merged + trunks(1);
  const std::string long_one = absl::StrCat("  n", merged.substr(3), trunks(3));
  EXPECT_EQ(rounds(short_one + long_one), rounds(short_one) + rounds(long_one));
}

// As the same prompts in the tokens that `generate --chat` gives them.
TEST(MeasureDrafters, WritesAPromptAsAChat) {
  const std::string model = " --model tests/goldens/gguf/types.gguf ";
  const std::string prompt = "Why is the sky blue?";
  const Outcome generated = RunProgram(
      absl::StrCat("generate", model, "--temperature 0 --max-new-tokens 1 ",
                   "--chat --json --prompt '", prompt, "'"));
  ASSERT_EQ(generated.code, 0) << generated.err;
  const nlohmann::json ids = nlohmann::json::parse(generated.out)["prompt_ids"];
  const auto measure = [&](const nlohmann::json& line,
                           const std::string& options) {
    const std::string out = WriteTestFile("", ".yaml");
    const Outcome outcome = RunProgram(absl::StrCat(
        "measure configs/methods/recycling.yaml", model,
        "--batch 1 --rounds 1 --prompts 1 --levels 2 --max-new-tokens 16 "
        "--temperature 1 --workload ",
        WriteTestFile(line.dump(), ".jsonl"), " --out ", out, options));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Load(out);
  };
  const nlohmann::json text = {{"id", "a"}, {"kind", "b"}, {"prompt", prompt}};
  const nlohmann::json same = {{"id", "a"}, {"kind", "b"}, {"ids", ids}};
  const Costs chat = measure(text, " --chat");
  const Costs tokens = measure(same, "");
  ASSERT_EQ(chat.acceptance.size(), 1U);
  ASSERT_EQ(tokens.acceptance.size(), 1U);
  EXPECT_EQ(chat.acceptance[0].rounds, tokens.acceptance[0].rounds);
  EXPECT_EQ(chat.acceptance[0].counts.at(0).judged,
            tokens.acceptance[0].counts.at(0).judged);
}

TEST(MeasureDrafters, SaysWhatItIsGivenTooLittleOrTooMuchOf) {
  const std::string method = "configs/methods/chain.yaml";
  const struct {
    std::string arguments;
    const char* told;
  } kCases[] = {
      {"", "expected --model for its passes; or a PATH"},
      {method, "is a method, not an experiment: expected --model and"},
      {method + " " + method, "expected one file of methods, found 2 paths"},
      {method + " --json --model models/pycode-target",
       "--json goes with --model alone"},
      {"no/records --model models/pycode-target",
       "--model goes with no record files"},
      {"no/records", "no/records"},
      {"no/records --width 3",
       "--width goes with an experiment or a method, not with record files"},
      {"--model models/pycode-target --prompts 3",
       "--prompts goes with an experiment or a method, not with a model alone"},
      {WriteTestFile(
           "{models: {d: {directory: " +
               std::filesystem::absolute("models/pycode-draft-1").string() +
               "}}, drafters: [{name: small_model, model: d}, "
               "{name: ngram}], trunks: [{drafter: 0, policy: {name: "
               "chain, nodes: measured}}, {drafter: 1, policy: {name: "
               "sequoia, nodes: measured}}], verifier: {name: "
               "multi_round}}",
           ".merged.yaml") +
           " --model models/pycode-target --workload "
           "experiments/workloads/pycode.jsonl",
       "measured: a method of several drafters is counted as it is"},
      {WriteTestFile("{verifier: {name: match}}", ".yaml") +
           " --model models/pycode-target --workload "
           "experiments/workloads/pycode.jsonl",
       "no method has a drafter to measure"},
  };
  for (const auto& [arguments, told] : kCases) {
    const Outcome outcome = RunProgram("measure " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(told)) << arguments;
  }
}

}  // namespace
}  // namespace banyan
