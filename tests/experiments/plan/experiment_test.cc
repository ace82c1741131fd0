// Experiment files: what they expand to, and what is refused.
#include "experiments/plan/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "tests/experiments/plan/made_experiment.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string With(const std::string& from, const std::string& to) {
  EXPECT_THAT(kMadeExperiment, HasSubstr(from));
  return absl::StrReplaceAll(kMadeExperiment, {{from, to}});
}

TEST(Experiment, CrossesAxesAndGivesEveryCombinationItsBaseline) {
  const auto experiment = ReadExperimentText(kMadeExperiment);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(
      CellNames(*experiment),
      ElementsAre("plain, sampling.temperature=0",
                  "chain, sampling.temperature=0, methods.chain.policy.nodes=2",
                  "chain, sampling.temperature=0, methods.chain.policy.nodes=4",
                  "ngram, sampling.temperature=0",
                  "plain, sampling.temperature=1",
                  "chain, sampling.temperature=1, methods.chain.policy.nodes=2",
                  "chain, sampling.temperature=1, methods.chain.policy.nodes=4",
                  "ngram, sampling.temperature=1"));
  std::vector<int> baselines;
  for (const ExperimentCell& cell : experiment->cells)
    baselines.push_back(cell.baseline);
  EXPECT_THAT(baselines, ElementsAre(0, 0, 0, 0, 4, 4, 4, 4));
  const ExperimentCell& cell = experiment->cells[2];
  EXPECT_EQ(PolicyOf(cell).Find("nodes")->text(), "4");
  EXPECT_EQ(cell.sampling.front().value.text(), "0");
  EXPECT_EQ(cell.target.directory, "some/target");
  EXPECT_EQ(cell.max_new_tokens, 64);
}

TEST(Experiment, PutsItsModelsInTheMethodsThatHaveThem) {
  const auto experiment = ReadExperimentText(kMadeExperiment);
  ASSERT_TRUE(experiment.ok());
  EXPECT_EQ(PathOf(experiment->cells[1], "draft"), "other");
  EXPECT_TRUE(experiment->cells[3].spec.models.empty());
  EXPECT_THAT(
      std::string(ReadExperimentText(With("  draft: {directory: other}",
                                          "  drift: {directory: other}"))
                      .status()
                      .message()),
      HasSubstr("file.yaml:5:3: no method has a model 'drift'"));
}

TEST(Experiment, ZipsTheSettingsOfALabel) {
  const auto experiment = ReadExperimentText(With(
      "  sampling.temperature: [0, 1]\n",
      "  size:\n"
      "    small: {target.directory: a, methods.ngram.policy.nodes: 1}\n"
      "    large: {target.directory: b, methods.ngram.policy.nodes: 9}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->cells.size(), 8U);
  EXPECT_EQ(experiment->cells[0].name, "plain, size=small");
  EXPECT_EQ(experiment->cells[4].target.directory, "b");
  EXPECT_EQ(PolicyOf(experiment->cells[7]).Find("nodes")->text(), "9");
}

// Some methods are compared in some combinations alone.
TEST(Experiment, LeavesOutAMethodThatALabelSetsToNothing) {
  const auto experiment = ReadExperimentText(
      With("  sampling.temperature: [0, 1]\n",
           "  temperature:\n"
           "    cold: {sampling.temperature: 0}\n"
           "    hot: {sampling.temperature: 1, methods.ngram: ~}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  std::vector<std::string> hot;
  int ngrams = 0;
  for (const ExperimentCell& cell : experiment->cells) {
    if (cell.method == "ngram") ++ngrams;
    if (absl::StrContains(cell.name, "=hot")) hot.push_back(cell.method);
  }
  EXPECT_EQ(ngrams, 1);
  EXPECT_THAT(hot, testing::Contains("plain"));
  EXPECT_THAT(hot, testing::Not(testing::Contains("ngram")));
}

// Also where the label concerns that method alone.
TEST(Experiment, LeavesOutAMethodOnAnAxisOfItsOwn) {
  const auto experiment =
      ReadExperimentText(With("  methods.chain.policy.nodes: [2, 4]\n",
                              "  case:\n    off: {methods.ngram: ~}\n"
                              "    on: {methods.ngram.policy.nodes: 8}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  int ngrams = 0;
  for (const ExperimentCell& cell : experiment->cells)
    if (cell.method == "ngram") ++ngrams;
  EXPECT_GT(ngrams, 0);
  for (const ExperimentCell& cell : experiment->cells)
    EXPECT_FALSE(cell.method == "ngram" &&
                 absl::StrContains(cell.name, "case=off"));
}

// An axis over methods alone says nothing of the baseline that they share.
TEST(Experiment, NamesABaselineByWhatConcernsIt) {
  const auto experiment = ReadExperimentText(
      With("  methods.chain.policy.nodes: [2, 4]\n",
           "  case:\n    a: {methods.chain.policy.nodes: 2, "
           "methods.ngram.policy.nodes: 2}\n    b: "
           "{methods.chain.policy.nodes: 4, methods.ngram.policy.nodes: 4}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->cells[0].name, "plain, sampling.temperature=0");
  EXPECT_EQ(experiment->cells[1].name, "chain, sampling.temperature=0, case=a");
}

TEST(Experiment, SharesABaselineWhereOnlyDraftersDiffer) {
  const auto experiment =
      ReadExperimentText(With("  sampling.temperature: [0, 1]\n",
                              "  draft:\n    one: {models.draft.directory: a}\n"
                              "    two: {models.draft.directory: b}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  int plain = 0;
  for (const ExperimentCell& cell : experiment->cells)
    plain += cell.method == kPlainMethod ? 1 : 0;
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(experiment->cells.back().baseline, 0);
}

TEST(Experiment, TellsPoliciesThatReadCostsHowManySequencesShareAPass) {
  const std::string sequoia =
      "{name: sequoia, acceptance: [0.5], nodes: 2, target_ms: {1: 1, 12: 2}";
  const std::string file = absl::StrCat(
      "question: q\ntarget: {directory: t}\nworkload: {file: w}\nmethods:\n"
      "  own: {drafters: [{name: ngram}], verifier: {name: match}, policy: ",
      sequoia, "}}\n",
      "  stated: {drafters: [{name: ngram}], verifier: {name: match}, policy: ",
      sequoia, ", batch: 3}}\n",
      "  trunk: {drafters: [{name: ngram}], verifier: {name: match}, trunks: "
      "[{drafter: 0, policy: ",
      sequoia, "}}]}\n",
      "  chain: {drafters: [{name: ngram}], verifier: {name: match}, policy: "
      "{name: chain, nodes: 2}}\n"
      "batch: 4\n");
  const auto experiment = ReadExperimentText(file);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  std::vector<std::string> found;
  for (const ExperimentCell& cell : experiment->cells) {
    const Params* batch =
        cell.spec.trunks.empty() ? nullptr : PolicyOf(cell).Find("batch");
    found.push_back(
        absl::StrCat(cell.method, " ", batch == nullptr ? "-" : batch->text()));
  }
  EXPECT_THAT(
      found, ElementsAre("plain -", "own 4", "stated 3", "trunk 4", "chain -"));
}

TEST(Experiment, DecodesChatsOneAtATime) {
  const std::string chats =
      With("{file: prompts.jsonl}", "{file: a, chat: vicuna}");
  EXPECT_TRUE(ReadExperimentText(chats).ok())
      << ReadExperimentText(chats).status();
  EXPECT_THAT(
      std::string(ReadExperimentText(absl::StrCat(chats, "batch: 2\n"))
                      .status()
                      .message()),
      HasSubstr("file.yaml:3:27: chats are decoded one at a time, and cell "
                "plain, sampling.temperature=0 has a batch of 2"));
  const std::string axis = absl::StrReplaceAll(
      chats, {{"  sampling.temperature: [0, 1]", "  batch: [1, 3]"}});
  EXPECT_THAT(std::string(ReadExperimentText(axis).status().message()),
              HasSubstr("cell plain, batch=3 has a batch of 3"));
}

struct Refusal {
  std::string from;
  std::string to;
  std::string message;
};

TEST(Experiment, RefusesWhatItCannotMean) {
  const std::vector<Refusal> refusals = {
      {"question: Does it?\n", "", "missing key 'question'"},
      {"sampling:", "samplin:", "unknown key 'samplin'"},
      {"temperature: 1}", "temprature: 1}", "file.yaml:6:12"},
      {"methods.chain.policy", "methods.chian.policy", "did you mean 'chain'"},
      {"[0, 1]", "[]", "no value"},
      {"[0, 1]", "[0, 0]", "two cells are called"},
      {"  ngram:\n", "  plain:\n", "'plain' is plain decoding, which"},
      {"  ngram:\n", "  plain_2:\n", "'plain_2' is plain decoding, which"},
      {"  ngram:\n", "  '':\n",
       "file.yaml:13:3: expected a method's name, found an empty text"},
      {"{file: prompts.jsonl}", "{file: a, prompts: -1}",
       "must not be negative"},
      {"{file: prompts.jsonl}", "{file: a, chat: vicunna}",
       "file.yaml:3:27: unknown chat template 'vicunna'; did you mean"},
      {"question: Does it?\n", "question: q\nseeds: [-1]\n",
       "whole numbers from 0"},
      {"question: Does it?\n", "question: q\nlimits: {max_new_tokens: 0}\n",
       "must be at least 1"},
      {"question: Does it?\n", "question: q\nbatch: 0\n",
       "file.yaml:2:8: experiment: 'batch' must be from 1 to 1024, found '0'"},
      {"question: Does it?\n", "question: q\nbatch: -2\n",
       "file.yaml:2:8: experiment: 'batch' must be from 1 to 1024, found '-2'"},
      {"question: Does it?\n", "question: q\nbatch: 1025\n",
       "must be from 1 to 1024"},
      {"  sampling.temperature: [0, 1]", "  batch: [1, 0]",
       "must be from 1 to 1024"},
      {"sampling.temperature: [0", "sampling..temperature: [0", "empty part"},
      {"{name: chain, nodes: 4}\n    ver", "chain\n    ver",
       "which has no parts"},
      {"  chain:\n    models", "  chain:\n    preset: none.yaml\n    models",
       "none.yaml"},
      // What would do nothing, or to the method alone.
      {"  methods.chain.policy.nodes: [2",
       "  x:\n"
       "    a: {sampling.temperature: 1}\n  y: [2",
       "axis x sets sampling.temperature, and axis sampling.temperature"},
      {"  methods.chain.policy.nodes:", "  methods.chain.preset:",
       "a preset cannot vary"},
      {"  methods.chain.policy.nodes:",
       "  methods.chain.models.draft.directory:",
       "the experiment's own model 'draft' stands in the place of"},
      {"  sampling.temperature:", "  workload.prompts:",
       "file.yaml:18:22: axis workload.prompts: 'workload.prompts' cannot "
       "vary"},
      {"  sampling.temperature: [0, 1]", "  models.drift.directory: [a, b]",
       "file.yaml:18:28: no method has a model 'drift'"},
      {"nodes: 3}\n", "nodes: 3}\n    sampling: {top_k: 3}\n",
       "file.yaml:16:15: a method of an experiment has no sampling"},
      {"nodes: 3}\n", "nodes: 3}\n    chat_template: llama3\n",
       "file.yaml:16:20: an experiment's `workload.chat`"},
  };
  for (const Refusal& refusal : refusals) {
    const auto experiment = ReadExperimentText(With(refusal.from, refusal.to));
    EXPECT_THAT(std::string(experiment.status().message()),
                HasSubstr(refusal.message))
        << refusal.to;
  }
}

// Before the first of them is made.
TEST(Experiment, BoundsItsCells) {
  std::string many;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&many, i == 0 ? "" : ", ", i);
  const std::string matrix =
      absl::StrCat("matrix:\n  sampling.temperature: [", many,
                   "]\n  limits.max_new_tokens: [", many,
                   "]\n  methods.chain.policy.nodes: [", many, "]\n");
  const std::string file = kMadeExperiment;
  const auto experiment =
      ReadExperimentText(file.substr(0, file.find("matrix:")) + matrix);
  EXPECT_EQ(experiment.status().message(),
            "file.yaml:18:3: expected at most 10000 cells, found 1.02e+06: 1 "
            "of seeds, 100 of sampling.temperature, 100 of "
            "limits.max_new_tokens, 100 of methods.chain.policy.nodes, with "
            "plain decoding and 2 methods");
  // Axes of one method add up with the others' cells and do not multiply them.
  const std::string one =
      absl::StrCat("matrix:\n  methods.chain.policy.nodes: [", many, "]\n");
  EXPECT_TRUE(
      ReadExperimentText(file.substr(0, file.find("matrix:")) + one).ok());
}

TEST(Experiment, TellsWhatIsWrongInEverySectionAtOnce) {
  const auto wrong = ReadExperimentText(
      "question: q\ntarget: {directry: t}\nworkload: {file: w, prompts: -1}\n"
      "limits: {max_new_tokens: 0}\nsampling: {temperature: -1}\n"
      "methods: {a: {verifier: {name: match}}}\n");
  for (const char* place :
       {"file.yaml:2:", "file.yaml:3:", "file.yaml:4:", "file.yaml:5:"})
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr(place));
  const auto presets = ReadExperimentText(
      "question: q\ntarget: {directory: t}\nworkload: {file: w}\n"
      "methods: {a: {preset: none.yaml}, b: {preset: nor this.yaml}}\n");
  EXPECT_THAT(std::string(presets.status().message()),
              AllOf(HasSubstr("none.yaml"), HasSubstr("nor this.yaml")));
}

}  // namespace
}  // namespace banyan
