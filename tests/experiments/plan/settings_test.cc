// What an experiment file takes from elsewhere: a base, presets, the command
// line; and where its paths lead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"
#include "tests/experiments/plan/made_experiment.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Experiment, TakesAnotherPresetOrAxisFromTheCommandLine) {
  const std::string preset = WriteTestFile(
      "drafters: [{name: ngram}]\npolicy: {name: chain, nodes: 3}\n"
      "verifier: {name: multi_round}\n");
  const auto setting = [](const std::string& text) {
    return *ReadSetting(text);
  };
  const std::string file = absl::StrReplaceAll(
      kMadeExperiment,
      {{"  ngram:\n    drafters: [{name: ngram}]\n"
        "    policy: {name: chain, nodes: 3}\n"
        "    verifier: {name: multi_round}\n",
        "  ngram: {preset: none.yaml, policy: {name: best_first, "
        "most_draws: 3}}\n"}});
  const auto experiment =
      ReadExperimentText(file, {setting("methods.ngram.preset=" + preset),
                                setting("matrix.sampling.temperature=[0.5]")});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->cells.size(), 4U);
  EXPECT_EQ(experiment->cells[3].name, "ngram, sampling.temperature=0.5");
  // Another policy brings its own keys, and none of the preset's.
  EXPECT_EQ(experiment->cells[3].section.Find("policy")->Find("nodes"),
            nullptr);
  for (const char* lost :
       {"sampling.temperature=2", "sampling={temperature: 2}",
        "methods.chain.policy.nodes=9",
        "methods.chain.models.draft.weights=q8"})
    EXPECT_THAT(
        std::string(ReadExperimentText(kMadeExperiment, {setting(lost)})
                        .status()
                        .message()),
        StartsWith(absl::StrCat(
            "--set ", std::string(lost).substr(0, std::string(lost).find('=')),
            ":1:1: ")));
}

// A base names the target, and what stands in the place of the models that
// methods have; its paths are its own.
TEST(Experiment, TakesTargetAndModelsFromABase) {
  const std::string base = WriteTestFile(
      "target: {directory: large, weights: q8}\n"
      "models: {draft: {directory: small}, other: {directory: none}}\n",
      "_base.yaml");
  const std::string file = absl::StrCat(
      "question: q\nbase: ", base,
      "\nworkload: {file: w}\n"
      "methods:\n"
      "  chain: {preset: ",
      std::filesystem::absolute("configs/methods/chain.yaml").string(),
      "}\n  ngram: {preset: ",
      std::filesystem::absolute("configs/methods/ngram.yaml").string(), "}\n");
  const auto experiment = ReadExperimentText(file);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const ExperimentCell& chain = experiment->cells[1];
  EXPECT_EQ(chain.target.directory,
            std::filesystem::path(base).parent_path() / "large");
  EXPECT_EQ(chain.target.weights, "q8");
  const Params& models = *chain.section.Find("models");
  EXPECT_EQ(models.entries().size(), 1U);
  EXPECT_EQ(models.Find("draft")->Find("directory")->text(), "small");
  EXPECT_EQ(experiment->cells[2].section.Find("models"), nullptr);
  // What the experiment says of the target stands above it.
  const auto own =
      ReadExperimentText(file, {*ReadSetting("target.weights=bf16")});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->cells[0].target.weights, "bf16");
  EXPECT_EQ(own->cells[0].target.directory, chain.target.directory);
  // What is resolved has no base any more.
  EXPECT_THAT(experiment->resolved, Not(HasSubstr("base:")));
  const std::string odd = WriteTestFile("models: {}\n", "_odd.yaml");
  EXPECT_THAT(
      std::string(ReadExperimentText(
                      absl::StrCat("question: q\nbase: ", odd,
                                   "\nworkload: {file: w}\nmethods: {}\n"))
                      .status()
                      .message()),
      HasSubstr("base: missing key 'target'"));
}

// A path from the command line is one from where the program runs.
TEST(Experiment, TakesPathsFromTheCommandLine) {
  const auto file = LoadYamlFile("configs/ablations/verifier.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  const auto experiment = ReadExperiment(
      *file, {*ReadSetting("target.directory=models/pycode-draft-2"),
              *ReadSetting("methods.tree.preset=configs/methods/ngram.yaml")});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->cells[0].target.directory, "models/pycode-draft-2");
  EXPECT_THAT(experiment->resolved,
              HasSubstr("directory: ../../models/pycode-draft-2"));
}

// What is resolved stands in one place: there it can be read again.
TEST(Experiment, ResolvesPathsToOneFolder) {
  const auto file = LoadYamlFile("configs/ablations/verifier.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  const auto experiment = ReadExperiment(*file, {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(experiment->resolved, HasSubstr("../../models/pycode-draft-1"));
  const auto again =
      ParseYaml(experiment->resolved, "configs/ablations/resolved.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  const auto same = ReadExperiment(*again, {});
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->resolved, experiment->resolved);
  // A bare name, too, is one beside its own file.
  const std::string counts = WriteTestFile("", ".safetensors");
  const std::string name = counts.substr(counts.rfind('/') + 1);
  const std::string preset = WriteTestFile(absl::StrCat(
      "drafters: [{name: unigram, counts: ", name,
      "}]\npolicy: {name: chain, nodes: 3}\nverifier: {name: match}\n"));
  const auto bare = ReadExperimentText(
      absl::StrCat("question: q\ntarget: {directory: t}\nworkload: {file: w}\n"
                   "methods: {mine: {preset: ",
                   preset, "}}\n"));
  ASSERT_TRUE(bare.ok()) << bare.status();
  const Params mine = ParseText(bare->resolved);
  const Params& drafters =
      *mine.Find("methods")->Find("mine")->Find("drafters");
  const std::filesystem::path path = drafters.items()[0].Find("counts")->text();
  EXPECT_TRUE(path.is_relative()) << path;
  EXPECT_TRUE(std::filesystem::equivalent(path, counts)) << path;
}

TEST(Experiment, TakesSettingsAndNamesTheResultByAHash) {
  const auto setting = ReadSetting("limits.max_new_tokens=7");
  ASSERT_TRUE(setting.ok()) << setting.status();
  const auto changed = ReadExperimentText(kMadeExperiment, {*setting});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->cells[0].max_new_tokens, 7);
  const auto experiment = ReadExperimentText(kMadeExperiment);
  EXPECT_NE(changed->hash, experiment->hash);
  // The resolved text says it all: read again, it is the same experiment.
  const auto again = ReadExperimentText(changed->resolved);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->hash, changed->hash);
  EXPECT_EQ(CellNames(*again), CellNames(*changed));
  for (const char* broken : {"limits", "=3", "limits.max_new_tokens=[1"})
    EXPECT_FALSE(ReadSetting(broken).ok()) << broken;
}

TEST(Experiment, ASettingOfNothingLeavesAMethodOut) {
  const auto all = ReadExperimentText(kMadeExperiment);
  ASSERT_TRUE(all.ok()) << all.status();
  const std::string last = all->cells.back().method;
  for (const char* nothing : {"~", "null"}) {
    const auto setting =
        ReadSetting(absl::StrCat("methods.", last, "=", nothing));
    ASSERT_TRUE(setting.ok()) << setting.status();
    const auto fewer = ReadExperimentText(kMadeExperiment, {*setting});
    ASSERT_TRUE(fewer.ok()) << fewer.status();
    EXPECT_LT(fewer->cells.size(), all->cells.size());
    for (const ExperimentCell& cell : fewer->cells)
      EXPECT_NE(cell.method, last);
  }
  EXPECT_FALSE(ReadSetting("limits.max_new_tokens=").ok());
}

TEST(Experiment, LaysOverridesOnAPreset) {
  const std::string preset = WriteTestFile(
      "drafters: [{name: ngram}]\npolicy: {name: chain, nodes: 3}\n"
      "verifier: {name: multi_round}\n");
  const auto experiment = ReadExperimentText(
      absl::StrCat("question: q\ntarget: {directory: t}\n"
                   "workload: {file: w}\nmethods: {mine: {preset: ",
                   preset, ", policy: {nodes: 8}}}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const Params& section = experiment->cells[1].section;
  EXPECT_EQ(section.Find("policy")->Find("nodes")->text(), "8");
  EXPECT_EQ(section.Find("policy")->Find("name")->text(), "chain");
  EXPECT_EQ(section.Find("preset"), nullptr);
  EXPECT_THAT(*section.Find("policy")->Find("name")->origin().file,
              HasSubstr(preset));
}

}  // namespace
}  // namespace banyan
