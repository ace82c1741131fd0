// Presets by name, and drafters by the target that they were made for.
#include "experiments/plan/made_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/preset_list.h"
#include "experiments/plan/presets.h"
#include "experiments/plan/read_method.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

MethodSpec Preset(const std::string& name) {
  const absl::StatusOr<Params> file = LoadPreset(Params::Scalar(name));
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? ReadMethodSpec(*file) : MethodSpec();
}

// The folders of the preset's models once they fit the target.
std::vector<std::string> Fitted(const std::string& name,
                                const std::string& target) {
  MethodSpec method = Preset(name);
  const absl::Status fitted = DrafterFinder().Fit(target, method);
  EXPECT_TRUE(fitted.ok()) << fitted;
  std::vector<std::string> folders;
  for (const NamedModel& model : method.models) {
    folders.push_back(model.spec.directory);
    // What a drafter opens is the same.
    EXPECT_THAT(Beside(model.place, model.place.text()),
                EndsWith(folders.back()));
  }
  return folders;
}

TEST(MadeFor, IsReadAsItIsWritten) {
  const MadeFor made_for = {.drafter = "eagle3",
                            .target = "a \"b\"",
                            .tokenizer = "0123456789abcdef",
                            .hidden_size = 576,
                            .layers = 30};
  const TestFolder folder;
  folder.Write(kMadeForFile, ToJson(made_for));
  const absl::StatusOr<MadeFor> read = ReadMadeFor(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read), ToJson(made_for));
  EXPECT_EQ(ReadMadeFor("models/pycode-target").status().code(),
            absl::StatusCode::kNotFound);
  folder.Write(kMadeForFile, R"({"drafter": "x", "for": "y"})");
  EXPECT_THAT(std::string(ReadMadeFor(folder.path()).status().message()),
              HasSubstr("for"));
}

TEST(MadeFor, LeavesTheDraftersThatAreTheTargetsOwn) {
  EXPECT_THAT(Fitted("specinfer_2", "models/pycode-target"),
              ElementsAre(EndsWith("models/pycode-draft-1"),
                          EndsWith("models/pycode-draft-2")));
  EXPECT_THAT(Fitted("eagle3", "models/pycode-target"),
              ElementsAre(EndsWith("models/pycode-eagle3")));
}

// The small models draft for every target with their tokens: here for one of
// themselves.
TEST(MadeFor, FindsTheDraftersOfAnotherTarget) {
  EXPECT_THAT(Fitted("specinfer_2", "models/smollm2-draft-1"),
              ElementsAre("models/smollm2-draft-1", "models/smollm2-draft-2"));
}

TEST(MadeFor, SaysForWhichTargetsThereIsOne) {
  MethodSpec method = Preset("eagle3");
  EXPECT_THAT(
      std::string(
          DrafterFinder().Fit("models/smollm2-draft-1", method).message()),
      AllOf(HasSubstr("eagle3.yaml:"),
            HasSubstr("no eagle3 was made for smollm2-draft-1 (hidden size "
                      "160, 6 layers, tokens 3a65df582f45a486): there is one "
                      "for SmolLM2-135M-Instruct, pycode-target"),
            HasSubstr("banyan list presets")));
}

// A file of the user's own means what it says.
TEST(MadeFor, LeavesModelsThatAnotherFileNames) {
  const std::string file = WriteTestFile(
      "models: {draft: {directory: /models/pycode-draft-1}}\n"
      "drafters: [{name: small_model, model: draft}]\n"
      "policy: {name: chain, nodes: 2}\nverifier: {name: multi_round}\n");
  MethodSpec method = Preset(file);
  EXPECT_TRUE(DrafterFinder().Fit("models/smollm2-draft-1", method).ok());
  EXPECT_EQ(method.models[0].spec.directory, "/models/pycode-draft-1");
}

TEST(Presets, AreListedWithWhatTheyNeed) {
  const absl::StatusOr<std::vector<PresetFacts>> all = ListPresets();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), PresetNames().size());
  EXPECT_GT(all->size(), 50u);
  const auto facts = [&](const std::string& name) {
    return *std::find_if(all->begin(), all->end(),
                         [&](const auto& one) { return one.name == name; });
  };
  EXPECT_THAT(facts("eagle3").drafters, ElementsAre("eagle3"));
  EXPECT_THAT(facts("eagle3").targets,
              ElementsAre("SmolLM2-135M-Instruct", "pycode-target"));
  EXPECT_THAT(facts("eagle1").targets, ElementsAre("pycode-target"));
  EXPECT_THAT(facts("suffix").drafters, IsEmpty());
  EXPECT_THAT(facts("rest").others, ElementsAre(HasSubstr("pycode-index")));
  for (const PresetFacts& preset : *all)
    EXPECT_NE(preset.sentence, "") << preset.name;
  std::vector<std::string> measured;
  for (const MeasuredPreset& one : facts("suffix").measured)
    measured.push_back(one.target);
  EXPECT_THAT(measured, Contains("pycode-110m"));
}

}  // namespace
}  // namespace banyan
