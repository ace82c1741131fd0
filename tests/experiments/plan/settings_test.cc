// What an experiment file takes from elsewhere: a base, presets, the command
// line; and where its paths lead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/read_experiment.h"
#include "tests/experiments/plan/made_experiment.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
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
  EXPECT_EQ(PolicyOf(experiment->cells[3]).Find("nodes"), nullptr);
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
  EXPECT_EQ(chain.spec.models.size(), 1U);
  EXPECT_EQ(PathOf(chain, "draft"), "small");
  EXPECT_TRUE(experiment->cells[2].spec.models.empty());
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

// A method file's text, one line.
std::string NgramMethod(int length) {
  return absl::StrCat(
      "{drafters: [{name: ngram}], policy: {name: chain, nodes: ", length,
      "}, verifier: {name: multi_round}}");
}

// What the command says of an experiment with these sections.
std::string Message(const std::string& sections) {
  const auto experiment = ReadExperimentText(
      absl::StrCat("question: q\nworkload: {file: w}\n", sections));
  return std::string(experiment.status().message());
}

// A base's methods stand under the experiment's own, in the base's order.
TEST(Experiment, TakesMethodsFromABase) {
  const std::string preset = WriteTestFile(NgramMethod(3), "_preset.yaml");
  const std::string base = WriteTestFile(
      absl::StrCat("target: {directory: large}\nmethods:\n  first: {preset: ",
                   preset.substr(preset.rfind('/') + 1), "}\n  second: ",
                   NgramMethod(4), "\n  third: ", NgramMethod(5), "\n"),
      "_base.yaml");
  const std::string head =
      absl::StrCat("question: q\nbase: ", base, "\nworkload: {file: w}\n");
  const auto alone = ReadExperimentText(head);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(CellNames(*alone),
              ElementsAre("plain", "first", "second", "third"));
  const std::string own =
      absl::StrCat(head, "methods:\n  second: ~\n  fourth: ", NgramMethod(6),
                   "\n  first: {policy: {nodes: 8}}\n");
  const auto experiment = ReadExperimentText(own);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(CellNames(*experiment),
              ElementsAre("plain", "first", "third", "fourth"));
  const Params& changed = PolicyOf(experiment->cells[1]);
  EXPECT_EQ(changed.Find("nodes")->text(), "8");
  EXPECT_EQ(changed.Find("name")->text(), "chain");
  // It is the experiment that has all of it in its own file.
  const auto whole = ReadExperimentText(absl::StrCat(
      "question: q\nworkload: {file: w}\ntarget: {directory: ",
      experiment->cells[0].target.directory,
      "}\nmethods:\n  first: ", NgramMethod(8), "\n  third: ", NgramMethod(5),
      "\n  fourth: ", NgramMethod(6), "\n"));
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (std::size_t i = 1; i < whole->cells.size(); ++i)
    EXPECT_EQ(MethodText(whole->cells[i]), MethodText(experiment->cells[i]));
  const auto again = ReadExperimentText(experiment->resolved);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(CellNames(*again), CellNames(*experiment));
  // The command line has the last word on a base's methods too.
  const auto set = ReadExperimentText(
      own, {*ReadSetting("methods.third=~"),
            *ReadSetting("methods.first.preset=" +
                         WriteTestFile(NgramMethod(2), "_other.yaml")),
            *ReadSetting("methods.fourth.policy.nodes=7")});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(CellNames(*set), ElementsAre("plain", "first", "fourth"));
  EXPECT_EQ(PolicyOf(set->cells[2]).Find("nodes")->text(), "7");
}

TEST(Experiment, LeavesOutOnlyMethodsThatABaseHas) {
  const std::string base = WriteTestFile(
      absl::StrCat("target: {directory: large}\nmethods: {suffix: ",
                   NgramMethod(3), "}\n"),
      "_base.yaml");
  EXPECT_THAT(
      Message(absl::StrCat("base: ", base, "\nmethods:\n  sufix: ~\n")),
      HasSubstr(":5:3: unknown method of the base 'sufix'; did you mean "
                "'suffix'?"));
  EXPECT_THAT(Message("target: {directory: t}\nmethods: {none: ~}\n"),
              HasSubstr("expected a method"));
  const std::string odd = WriteTestFile(
      "target: {directory: large}\nmethods: [copy]\n", "_odd.yaml");
  EXPECT_THAT(
      Message(absl::StrCat("base: ", odd, "\n")),
      HasSubstr("_odd.yaml:2:10: expected a map from names to methods"));
  EXPECT_THAT(Message(absl::StrCat("base: ", base, "\nmethods: [copy]\n")),
              HasSubstr("expected a map from names to methods"));
}

// The lower base is under the upper one, as that is under the experiment.
TEST(Experiment, ABaseMayHaveABase) {
  const std::string lower = WriteTestFile(
      absl::StrCat("target: {directory: large, weights: q8}\n"
                   "models: {draft: {directory: small}}\nmethods:\n  first: ",
                   NgramMethod(3), "\n  second: ", NgramMethod(4), "\n"),
      "_lower.yaml");
  const std::string upper = WriteTestFile(
      absl::StrCat(
          "base: ", lower.substr(lower.rfind('/') + 1),
          "\ntarget: {weights: bf16}\n"
          "models: {draft: {directory: other}}\n"
          "methods: {first: ~, third: {preset: ",
          std::filesystem::absolute("configs/methods/chain.yaml").string(),
          "}}\n"),
      "_upper.yaml");
  const auto experiment = ReadExperimentText(
      absl::StrCat("question: q\nbase: ", upper, "\nworkload: {file: w}\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(CellNames(*experiment), ElementsAre("plain", "second", "third"));
  EXPECT_EQ(experiment->cells[0].target.weights, "bf16");
  EXPECT_EQ(experiment->cells[0].target.directory,
            std::filesystem::path(lower).parent_path() / "large");
  EXPECT_EQ(PathOf(experiment->cells[2], "draft"), "other");
  const std::string ring = WriteTestFile("", "_ring.yaml");
  const std::string link = WriteTestFile("base: " + ring + "\n", "_link.yaml");
  std::ofstream(ring) << "base: " << link << "\n";
  EXPECT_THAT(Message("base: " + ring + "\nmethods: {}\n"),
              AllOf(HasSubstr("_link.yaml:1:7: "),
                    HasSubstr("_ring.yaml is a base of itself")));
}

// Those of the base and of the experiment, the experiment's first.
TEST(Experiment, AMethodSeesTheModelsOfBaseAndExperiment) {
  const std::string base = WriteTestFile(
      "target: {directory: large}\n"
      "models: {draft: {directory: small}, heads: {heads: wide},\n"
      "         never: {directory: none}}\n",
      "_base.yaml");
  const std::string text =
      absl::StrCat("question: q\nbase: ", base,
                   "\nworkload: {file: w}\nmethods:\n"
                   "  merged:\n"
                   "    drafters:\n"
                   "      - name: cascade\n"
                   "        upper: {name: small_model, model: draft}\n"
                   "        lower: {name: ngram, reset: never}\n"
                   "      - {name: medusa, heads: heads}\n"
                   "    policy: {name: chain, nodes: 2}\n"
                   "    verifier: {name: multi_round}\n"
                   "  own:\n"
                   "    models: {draft: {directory: mine}}\n"
                   "    drafters: [{name: ngram}]\n"
                   "    policy: {name: chain, nodes: 2}\n"
                   "    verifier: {name: multi_round}\n");
  const auto experiment = ReadExperimentText(text);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const ExperimentCell& merged = experiment->cells[1];
  ASSERT_EQ(merged.spec.models.size(), 2U);  // not `never`
  EXPECT_EQ(PathOf(merged, "draft"), "small");
  EXPECT_EQ(PathOf(merged, "heads"), "wide");
  for (const NamedModel& model : merged.spec.models)
    EXPECT_EQ(*model.place.origin().file, base);
  const auto again = ReadExperimentText(experiment->resolved);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(MethodText(again->cells[1]), MethodText(experiment->cells[1]));
  // A model of the experiment's own, and one that a setting names.
  const auto other =
      ReadExperimentText(text + "models: {draft: {directory: ours}}\n",
                         {*ReadSetting("methods.merged.drafters.0.lower="
                                       "{name: small_model, model: never}")});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(PathOf(other->cells[1], "draft"), "ours");
  EXPECT_EQ(PathOf(other->cells[1], "never"), "none");
}

// A path from the command line is one from where the program runs.
TEST(Experiment, TakesPathsFromTheCommandLine) {
  const auto file = LoadYamlFile("configs/ablations/verifier.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  const auto experiment = ReadExperiment(
      *file,
      {*ReadSetting("target.directory=models/pycode-draft-2"),
       *ReadSetting("methods.chain_block.preset=configs/methods/ngram.yaml")});
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
  const Params& policy = PolicyOf(experiment->cells[1]);
  EXPECT_EQ(policy.Find("nodes")->text(), "8");
  EXPECT_EQ(policy.Find("name")->text(), "chain");
  EXPECT_THAT(*policy.Find("name")->origin().file, HasSubstr(preset));
}

}  // namespace
}  // namespace banyan
