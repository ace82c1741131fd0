// Every file of configs is read as the program reads it: which way, its folder
// says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "drafters/catalogue.h"
#include "experiments/loading/method_file.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/read_experiment.h"
#include "experiments/plan/resolve.h"
#include "experiments/plan/workload.h"
#include "experiments/proof/exact_law.h"
#include "experiments/report/stated_costs.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/preset_files.h"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/empty_model.h"
#include "tests/support/made/shipped_index.h"
#include "tests/support/sanitized.h"
#include "tests/support/tally.h"
#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

// What scripts/run, scripts/train and scripts/long_texts make, which no fresh
// clone has, and what ships in its place here: of the same kind, so that all of
// an experiment is resolved and all its models opened. In the place of what
// scripts/corpus_index makes there is ShippedIndex().
constexpr std::pair<const char*, const char*> kStandIns[] = {
    {"build/cache/costs_2m.yaml", "configs/costs/2m.yaml"},
    {"build/cache/costs_110m.yaml", "configs/costs/2m.yaml"},
    {"build/cache/long-15m", "models/pycode-target"},
    {"build/cache/long.jsonl", "experiments/workloads/pycode.jsonl"},
    {"build/cache/long_1k.jsonl", "experiments/workloads/pycode.jsonl"},
    {"build/cache/pycode-110m", "models/pycode-target"},
    {"build/cache/pycode-medusa-110m", "models/pycode-medusa"},
    {"build/cache/pycode-eagle1-110m", "models/pycode-eagle1"},
    {"build/cache/pycode-eagle3-110m", "models/pycode-eagle3"},
    {"build/cache/smollm2-1b-eagle3", "models/smollm2-eagle3"},
    {"build/cache/smollm2-7b-eagle3", "models/smollm2-eagle3"},
    {"build/spec_bench/question.jsonl",
     "tests/experiments/plan/data/questions.jsonl"},
    {"build/training/pycode-draft-2-unboosted", "models/pycode-draft-2"},
    {"build/training/same-tokenizer", "models/pycode-draft-1"}};

// The project as its configurations see it.
class Project {
 public:
  Project() {
    fs::copy("configs", configs(), fs::copy_options::recursive);
    for (const char* folder : {"models", "experiments"}) Link(folder, folder);
    for (const auto& [path, ours] : kStandIns) Link(path, ours);
    Link("build/cache/pycode-index", ShippedIndex().c_str());
    StandInForGguf();
    StandInForEnlarged();
    LinkContrasts();
  }
  fs::path configs() const { return root() / "configs"; }

 private:
  fs::path root() const { return folder_.path(); }
  void Link(const std::string& path, const std::string& ours) const {
    fs::create_directories((root() / path).parent_path());
    fs::create_symlink(fs::absolute(ours), root() / path);
  }
  // The configurations name GGUF files; ours is a directory.
  void StandInForGguf() const {
    const std::string empty = root() / "build/models/empty";
    MakeEmptySmolLm2(empty);
    Link("build/models/humaneval.jsonl", "experiments/workloads/chat.jsonl");
    for (const char* file :
         {"models/smollm2.yaml", "models/qwen.yaml", "costs/smollm2.yaml",
          "costs/qwen_code.yaml", "methods_smollm2.yaml"}) {
      const std::string path = configs() / file;
      std::string text = FileText(path);
      ASSERT_GT(absl::StrReplaceAll(
                    {{"SmolLM2-135M-Instruct.Q4_1.gguf", "empty"},
                     {"Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf", "empty"},
                     {"Qwen2.5-Coder-0.5B-Instruct.Q4_K_M.gguf", "empty"}},
                    &text),
                0)
          << file;
      std::ofstream(path) << text;
    }
  }
  // What `scripts/models smollm2-1b` and `smollm2-7b` make, but not enlarged.
  void StandInForEnlarged() const {
    const fs::path cache = root() / "build/cache";
    const Outcome packed = RunProgram(
        absl::StrCat("pack --weights bf16 --model ",
                     (root() / "build/models/empty").string(), " --out ",
                     (cache / "smollm2-1b.pack").string()));
    ASSERT_EQ(packed.code, 0) << packed.output;
    fs::create_symlink(cache / "smollm2-1b.pack", cache / "smollm2-7b.pack");
    std::string text = FileText(configs() / "costs/smollm2.yaml");
    ASSERT_GT(absl::StrReplaceAll({{": empty\n", ": smollm2-1b.pack\n"},
                                   {"smollm2-eagle3", "smollm2-1b-eagle3"}},
                                  &text),
              0);
    std::ofstream(cache / "smollm2-1b-costs.yaml") << text;
  }
  // What `scripts/train contrasts` makes, a drafter or heads in each folder;
  // where the target was tuned along with its heads, it is beside them.
  void LinkContrasts() const {
    const std::string made = "build/contrasts/";
    const auto drafter = [&](const std::string& name) {
      Link(made + name, "models/pycode-draft-1");
    };
    for (const char* name : {"start", "longer"}) drafter(name);
    for (const std::string loss :
         {"forward-kl", "reverse-kl", "jensen-shannon", "total-variation"})
      for (const char* text : {"-corpus", "-target", "-drafter"})
        drafter(loss + text);
    for (const char* name : {"regular", "distilled", "distribution"})
      Link(made + "heads-" + name, "models/pycode-medusa");
    for (const char* name : {"tuned", "both"}) {
      const std::string heads = made + "heads-" + name + "/";
      Link(heads + "target", "models/pycode-target");
      for (const std::string file :
           {"config.json", "medusa_lm_head.safetensors"})
        Link(heads + file, "models/pycode-medusa/" + file);
    }
  }

  TestFolder folder_;
};

absl::Status Run(const std::string& arguments) {
  const Outcome outcome = RunProgram(arguments);
  if (outcome.code == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(outcome.output);
}

absl::Status ReadExperimentFile(const std::string& path) {
  return Run("check --resolved " + path);
}

absl::Status ReadTreeFile(const std::string& path) {
  return Run("tree " + path);
}

absl::Status ReadLaw(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(path));
  return ReadExactFile(file).status();
}

absl::Status ReadMethod(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(path));
  ModelShelf shelf(OneThread());
  return ReadMethodFile(file,
                        {.target = {kShippedTarget, "auto"}, .shelf = shelf})
      .status();
}

// Every table of a file that ships says where its numbers come from.
template <typename Table>
absl::Status CheckProvenance(const std::string& path,
                             const std::vector<Table>& tables) {
  for (const Table& table : tables)
    for (const std::string& text : {table.from.machine, table.from.build,
                                    table.from.source, table.from.date})
      if (text.empty())
        return absl::InvalidArgumentError(
            path + ": expected machine, build, source and date of every table");
  return absl::OkStatus();
}

// Those with passes and levels are for reports too.
absl::Status ReadCostsFile(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(path));
  BANYAN_ASSIGN_OR_RETURN(const Costs costs, ReadCosts(file));
  if (costs.passes.size() + costs.levels.size() + costs.acceptance.size() +
          costs.heads.size() + costs.chains.size() ==
      0)
    return absl::InvalidArgumentError(path + ": expected a table");
  BANYAN_RETURN_IF_ERROR(CheckProvenance(path, costs.passes));
  BANYAN_RETURN_IF_ERROR(CheckProvenance(path, costs.levels));
  BANYAN_RETURN_IF_ERROR(CheckProvenance(path, costs.acceptance));
  BANYAN_RETURN_IF_ERROR(CheckProvenance(path, costs.heads));
  BANYAN_RETURN_IF_ERROR(CheckProvenance(path, costs.chains));
  return costs.passes.empty() || costs.levels.empty()
             ? absl::OkStatus()
             : ReadStatedCosts(path).status();
}

// A base: by an experiment on it.
absl::Status ReadBase(const std::string& path) {
  return Run("check --resolved " +
             WriteTestFile(absl::StrCat(
                 "question: q\nbase: ", path, "\nworkload: {file: ",
                 fs::absolute("experiments/workloads/chat.jsonl").string(),
                 ", prompts: 1, chat: auto}\n"
                 "methods: {copy: {preset: ",
                 fs::absolute("configs/methods/copy.yaml").string(), "}}\n")));
}

// The same of one with methods, some of which have sizes that are measured.
absl::Status ReadBaseOfMethods(const std::string& path) {
  return Run("check --resolved " +
             WriteTestFile(absl::StrCat(
                 "question: q\nbase: ", path, "\nworkload: {file: ",
                 fs::absolute("experiments/workloads/chat.jsonl").string(),
                 ", prompts: 1, chat: auto}\ncosts: !include ",
                 (fs::path(path).parent_path() / "../costs").string(),
                 "/smollm2.yaml\n")));
}

// By folder below configs.
using Reader = absl::Status (*)(const std::string& path);
const std::map<std::string, Reader>& Readers() {
  static const auto& readers =
      *new std::map<std::string, Reader>{{"", ReadExperimentFile},
                                         {"ablations", ReadExperimentFile},
                                         {"bases", ReadBaseOfMethods},
                                         {"costs", ReadCostsFile},
                                         {"exact", ReadLaw},
                                         {"exact/controls", ReadLaw},
                                         {"methods", ReadMethod},
                                         {"models", ReadBase},
                                         {"papers", ReadExperimentFile},
                                         {"tree", ReadTreeFile}};
  return readers;
}

TEST(ConfigFiles, AreReadAsTheProgramReadsThem) {
  const Project project;
  Tally tally;
  int file = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(project.configs())) {
    if (entry.path().extension() != ".yaml") continue;
    const fs::path name = entry.path().lexically_relative(project.configs());
    const auto reader = Readers().find(name.parent_path().string());
    ASSERT_NE(reader, Readers().end()) << name << ": a folder of what files?";
    // Sanitizers see what they see in some; the released build reads all.
    if (kSanitized && file++ % 4 != 0) continue;
    const absl::Status status = reader->second(entry.path().string());
    EXPECT_TRUE(status.ok()) << name << ": " << status;
    if (status.ok()) tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, kSanitized ? 45 : 177);
}

TEST(ConfigFiles, TheTwoExperimentsOnSmolLm2HaveTheSameMethods) {
  const Project project;
  const auto methods = [&](const std::string& name) {
    const auto file = LoadYamlFile((project.configs() / name).string());
    EXPECT_TRUE(file.ok()) << file.status();
    const auto resolved = Resolve(*file, {});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    return ToYaml(*resolved->Find("methods"));
  };
  const std::string whole = methods("trees_vs_chains.yaml");
  EXPECT_EQ(methods("smollm2.yaml"), whole);
  for (const char* name :
       {"specinfer_1:", "specinfer_2:", "sequoia:", "eagle3:", "medusa:",
        "suffix:", "copy:", "hybrid:", "merged_heads:", "auto:"})
    EXPECT_THAT(whole, testing::HasSubstr(name));
}

TEST(ConfigFiles, StateACostForEveryDrafter) {
  const auto costs = ReadStatedCosts("configs/costs/flat.yaml");
  ASSERT_TRUE(costs.ok()) << costs.status();
  std::set<std::string> drafters = {kAnyDrafter};
  for (const DrafterRow& row : DrafterCatalogue()) drafters.emplace(row.name);
  std::set<std::string> priced;
  for (const LevelCosts& level : costs->tables.levels) {
    priced.insert(level.drafter);
    EXPECT_EQ(drafters.count(level.drafter.substr(0, level.drafter.find('('))),
              1U)
        << level.drafter << " is priced, and no drafter";
  }
  EXPECT_EQ(priced.count(kAnyDrafter), 1U);
}

// What shapes were chosen on, and what they are then compared on.
TEST(ConfigFiles, ChooseShapesOnOtherPromptsThanTheyCompareThemOn) {
  const Project project;
  const auto prompts = [&project](const std::string& name) {
    const auto file = LoadYamlFile((project.configs() / name).string());
    EXPECT_TRUE(file.ok()) << file.status();
    const auto experiment = ReadExperiment(*file, {});
    EXPECT_TRUE(experiment.ok()) << experiment.status();
    const auto workload = ReadWorkload(experiment->workload.file);
    EXPECT_TRUE(workload.ok()) << workload.status();
    return *ChoosePrompts(experiment->workload, *workload);
  };
  const std::vector<int> compared = prompts("specinfer_vs_chain.yaml");
  EXPECT_EQ(compared.size(), 10U);
  for (const char* name :
       {"ablations/chain_length.yaml", "ablations/tree_size.yaml",
        "ablations/together_pycode.yaml"}) {
    const std::vector<int> chosen = prompts(name);
    EXPECT_EQ(chosen.size(), 18U);
    for (int number : chosen)
      EXPECT_EQ(std::count(compared.begin(), compared.end(), number), 0)
          << name << " has prompt " << number;
  }
}

}  // namespace
}  // namespace banyan
