// Method files, as `banyan generate` reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kGood[] =
    "models:\n"
    "  copy: {directory: target, weights: q8}\n"
    "drafters: [{name: small_model, model: copy}]\n"
    "policy: {name: chain, nodes: 2}\n"
    "verifier: {name: leviathan}\n"
    "sampling: {temperature: 0}\n";

std::string Command(const std::string& text) {
  return "generate --model " + GoldenFolder("llama") +
         " --ids 1,5 --ignore-eos --method " + WriteTestFile(text);
}

// The good file with one text in the place of another.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void ExpectRefused(const std::string& text, const std::string& place,
                   const std::string& reason) {
  const Outcome outcome = RunProgram(Command(text));
  EXPECT_EQ(outcome.code, 2) << text << outcome.output;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(".yaml:" + place + ": "), HasSubstr(reason)))
      << text;
  EXPECT_EQ(outcome.out, "") << text;
}

TEST(MethodFile, BansTokensOfTheTargetAlone) {
  ExpectRefused(With("{temperature: 0}", "{temperature: 0, banned: [1, 5000]}"),
                "6:36", "sampling: banned: expected tokens from 0 to ");
  ExpectRefused(
      With("model: copy}", "model: copy, sampling: {banned: [5000]}}"), "3:64",
      "sampling: banned: expected tokens from 0 to ");
}

TEST(MethodFile, SkipsALayerOnce) {
  ExpectRefused(With("[{name: small_model, model: copy}]",
                     "[{name: small_model, model: copy}, {name: skip, "
                     "attention: [0, 0]}]"),
                "3:70", "must name each layer once");
}

TEST(MethodFile, GivesTheSamplingUnlessAnOptionOverridesIt) {
  const auto ids = [](const std::string& command) {
    return RunForJson(command + " --json").at("ids");
  };
  const std::string greedy = Command(kGood);
  const nlohmann::json coldest = ids(greedy);
  EXPECT_EQ(coldest, ids(greedy + " --seed 5"));
  EXPECT_NE(coldest, ids(greedy + " --seed 5 --temperature 1"));
  // Keys that are not overridden stay.
  EXPECT_EQ(coldest, ids(greedy + " --seed 5 --top-k 3"));
  EXPECT_EQ(coldest, ids(Command(With("temperature: 0", "top_k: 1")) +
                         " --seed 5 --temperature 2"));
  // Without the section the temperature is 1.
  const std::string warm = Command(With("sampling: {temperature: 0}\n", ""));
  EXPECT_EQ(ids(warm + " --seed 5"), ids(warm + " --seed 5 --temperature 1"));
  EXPECT_NE(ids(warm + " --seed 5"), coldest);
}

TEST(MethodFile, FindsDirectoriesRelativeToItself) {
  const std::string folder =
      std::filesystem::absolute(GoldenFolder("llama")).string();
  const std::string here =
      std::filesystem::relative(folder, testing::TempDir()).string();
  const auto run = [](const std::string& directory) {
    return RunProgram(
        Command(With("directory: target", "directory: \"" + directory + "\"")));
  };
  const Outcome outcome = run(here);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(run(folder).out, outcome.out);
  ExpectRefused(With("directory: target", "directory: no_such_folder"), "2:21",
                "no_such_folder'; a model is a directory");
  // That its drafter has no model then is no second mistake.
  const Outcome refused = run("no_such_folder");
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1)
      << refused.err;
}

TEST(MethodFile, SaysOfALossyMethodThatItIsLossy) {
  const std::string lossy = Command(With("leviathan", "typical"));
  const Outcome outcome = RunProgram(lossy);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.err, HasSubstr("verifier typical, LOSSY ("));
  EXPECT_EQ(RunForJson(lossy + " --json").at("lossless"), false);
}

TEST(MethodFile, TakesSeveralTrunks) {
  const std::string text =
      "models: {copy: {directory: target, weights: q8}}\n"
      "drafters: [{name: small_model, model: copy}]\n"
      "trunks:\n"
      "  - {drafter: 0, policy: {name: chain, nodes: 2}}\n"
      "  - {drafter: 0, policy: {name: expansion, branching: [3]}}\n"
      "verifier: {name: match}\n";
  const nlohmann::json json =
      RunForJson(Command(text) + " --temperature 0 --json");
  EXPECT_EQ(json.at("method").at("trunks").size(), 2u);
  EXPECT_EQ(json.at("ids"), RunForJson(Command(kGood) + " --json").at("ids"));
}

TEST(MethodFile, SaysHowTreesAreScored) {
  const std::string tree =
      With("policy: {name: chain, nodes: 2}\nverifier: {name: leviathan}\n",
           "policy: {name: expansion, branching: [3, 2]}\n"
           "verifier: {name: multi_round}\n");
  const nlohmann::json merged = RunForJson(Command(tree) + " --json");
  const nlohmann::json unmerged =
      RunForJson(Command(tree + "score: unmerged\n") + " --json");
  EXPECT_EQ(merged.at("method").at("score"), "merged");
  EXPECT_EQ(unmerged.at("method").at("score"), "unmerged");
  EXPECT_EQ(RunForJson(Command(tree + "score: merged\n") + " --json")
                .at("method")
                .at("score"),
            "merged");
  EXPECT_EQ(unmerged.at("ids"), merged.at("ids"));
  EXPECT_EQ(unmerged.at("rounds"), merged.at("rounds"));
  ExpectRefused(std::string(kGood) + "score: apart\n", "7:8",
                "must be merged or unmerged");
}

TEST(MethodFile, RefusesUnknownNamesAndKeysWithTheNearestKnown) {
  ExpectRefused(With("models:", "model:"), "1:1", "did you mean 'models'?");
  ExpectRefused(With("weights: q8", "weigths: q8"), "2:29",
                "did you mean 'weights'?");
  ExpectRefused(With("name: small_model", "name: smal_model"), "3:19",
                "did you mean 'small_model'?");
  ExpectRefused(With("model: copy", "model: coppy"), "3:39",
                "did you mean 'copy'?");
  ExpectRefused(With("temperature", "temprature"), "6:12",
                "did you mean 'temperature'?");
  ExpectRefused(With("leviathan", "leviatan"), "5:18",
                "did you mean 'leviathan'?");
}

TEST(MethodFile, RefusesWhatCannotBe) {
  ExpectRefused(With("weights: q8", "weights: q5"), "2:38",
                "must be auto, f32, bf16, q8 or q4, found 'q5'");
  ExpectRefused(With("  copy: {directory: target, weights: q8}\n",
                     "  copy: {weights: q8}\n"),
                "2:9", "missing key 'directory'");
  ExpectRefused(With("models:\n  copy: {directory: target, weights: q8}\n",
                     "models: [1]\n"),
                "1:9", "expected a map from names to models");
  ExpectRefused(With("verifier: {name: leviathan}\n", ""), "1:1",
                "missing key 'verifier'");
  ExpectRefused(With("policy: {name: chain, nodes: 2}\n", ""), "1:1",
                "missing key 'policy'");
  ExpectRefused(With("drafters: [{name: small_model, model: copy}]\n", ""),
                "3:9", "a policy needs 'drafters'");
  ExpectRefused(std::string(kGood) + "trunks: []\n", "3:12",
                "no trunk uses drafter 0");
  ExpectRefused(std::string(kGood) +
                    "trunks: [{drafter: 0, policy: {name: chain, nodes: 1}}]\n",
                "4:9", "every trunk has a policy of its own beside this one");
  ExpectRefused(With("  copy: {directory: target, weights: q8}\n",
                     "  copy: {directory: target, weights: q8}\n"
                     "  other: {directory: target}\n"),
                "3:3", "no drafter uses model 'other'");
  // Costs that its policy includes, in one line here.
  const auto with_costs = [](const std::string& key,
                             const std::string& tables) {
    return With("chain, nodes: 2",
                "sequoia, nodes: 2, " + key + ": {" + tables + "}");
  };
  const std::string counts =
      "draws: [independent], rounds: 9, counts: [{depth: 1, judged: [9], "
      "accepted: [3]}]}]";
  ExpectRefused(
      with_costs("acceptance",
                 "acceptance: [{drafters: [heads], kinds: [medusa], " + counts),
      "4:35", "acceptance: the costs have no acceptance of drafter");
  ExpectRefused(
      with_costs(
          "acceptance",
          "acceptance: [{drafters: [a], kinds: [small_model], depths: 1, " +
              counts),
      "4:99", "unknown key 'depths'");
  ExpectRefused(
      with_costs("acceptance: [0.5], target_ms", "levels: [{ms: {other: 1}}]"),
      "4:54", "target_ms: the costs have no passes");
  ExpectRefused(With("chain, nodes: 2", "static, paths: [[0]], tree: x"),
                "4:44", "belongs to file, and needs it");
  ExpectRefused(With("chain, nodes: 2", "expansion, branching: [2]"), "5:11",
                "verifier leviathan does not go with policy expansion");
  ExpectRefused(std::string(kGood) + "chat_template: lama2\n", "7:16",
                "did you mean 'llama2'?");
}

TEST(MethodFile, SaysHowAnIndexIsMadeThatIsNotThere) {
  ExpectRefused(
      "models: {library: {index: no/such/index}}\n"
      "drafters: [{name: rest, index: library}]\n"
      "policy: {name: best_first, most_draws: 12}\n"
      "verifier: {name: multi_round}\n",
      "1:27",
      "no/such/index' is not a directory; `banyan make index --model TARGET "
      "--out "
      "FOLDER FILES` makes an index, scripts/corpus_index that of the preset "
      "`rest`");
}

TEST(MethodFile, SaysAtTheirPlaceWhatIsWrongWithHeads) {
  const auto heads = [](const std::string& entry, const std::string& name) {
    return "models: {h: " + entry + "}\n" +
           "drafters: [{name: medusa, heads: " + name + "}]\n" +
           "policy: {name: chain, nodes: 2}\nverifier: {name: match}\n";
  };
  ExpectRefused(heads("{heads: no_such_folder}", "h"), "1:21",
                "no_such_folder' is not a directory");
  ExpectRefused(heads("{heads: [1]}", "h"), "1:21", "expected a text");
  ExpectRefused(heads("{heads: target, weights: q8}", "h"), "1:29",
                "unknown key 'weights'");
  const std::string no_heads =
      std::filesystem::absolute(GoldenFolder("llama")).string();
  ExpectRefused(heads("{heads: " + no_heads + "}", "h"), "1:21",
                "expected the name of a Medusa head's tensor");
  ExpectRefused(heads("{heads: no_such_folder}", "hh"), "2:34",
                "unknown heads 'hh'; known: h");
  ExpectRefused(heads("{directory: target}", "h"), "2:34", "unknown heads 'h'");
  // What nobody uses is not read.
  ExpectRefused(With("  copy: {", "  h: {heads: no_such_folder}\n  copy: {"),
                "2:3", "no drafter uses model 'h'");
}

TEST(MethodFile, RefusesADrafterOfAnotherVocabulary) {
  const std::string other =
      std::filesystem::absolute(GoldenFolder("llama_biased")).string();
  ExpectRefused(With("directory: target", "directory: \"" + other + "\""),
                "3:39",
                "the drafter has a vocabulary of 53, the target one of 83");
}

TEST(MethodFile, RefusesAnOverrideThatTheVerifierCannotHave) {
  const Outcome outcome =
      RunProgram(Command(With("leviathan", "greedy")) + " --temperature 1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("verifier greedy does not go with sampling at temperature 1"));
}

// What configs/methods ships can be read.
TEST(MethodFile, EveryExampleRuns) {
  Tally tally;
  for (const auto& entry :
       std::filesystem::directory_iterator("configs/methods")) {
    if (entry.path().stem() == "rest") {
      tally.LeaveOut("needs an index, which presets_test has");
      continue;
    }
    const Outcome outcome = RunProgram(
        "generate --model models/pycode-target --prompt 'def f(' "
        "--max-new-tokens 5 --method " +
        entry.path().string());
    EXPECT_EQ(outcome.code, 0) << entry.path() << outcome.output;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 54);
}

}  // namespace
}  // namespace banyan
