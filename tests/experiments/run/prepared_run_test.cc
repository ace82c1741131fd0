// Experiments made ready to decode, and what is found wrong on the way.
#include "experiments/run/prepared_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/weight_format.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/reference/reference_backend.h"
#include "core/prob/sampling_rule.h"
#include "drafters/draft_vocabulary.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/read_experiment.h"
#include "experiments/plan/resolve.h"
#include "experiments/plan/workload.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/run/estimate.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/run_file.h"
#include "experiments/run/shard.h"
#include "tests/experiments/preset_files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/made/edited_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Begins an experiment on the shipped target; `prompts` are keys of its
// workload.
std::string Head(const std::string& prompts) {
  return absl::StrCat(
      "question: q\n"
      "target: {directory: models/pycode-target}\n"
      "workload: {file: experiments/workloads/pycode.jsonl, ",
      prompts, "}\n");
}

// An experiment's cells, ready to decode on the models of `shelf`.
absl::StatusOr<PreparedRun> Prepare(const std::string& text,
                                    ModelShelf& shelf) {
  BANYAN_ASSIGN_OR_RETURN(const Params file, ParseYaml(text, "file.yaml"));
  BANYAN_ASSIGN_OR_RETURN(const Experiment experiment,
                          ReadExperiment(file, {}));
  BANYAN_ASSIGN_OR_RETURN(const Workload workload,
                          ReadWorkload(experiment.workload.file));
  return PrepareRun(experiment, workload, shelf,
                    std::make_shared<SteadyClock>());
}

// Whatever varies, a cell and its baseline differ in the drafters alone.
TEST(PreparedRun, GivesEveryCellABaselineLikeItselfInAllElse) {
  ModelShelf shelf(OneThread());
  const auto run = Prepare(
      Head("prompts: 2") +
          "sampling: {top_p: 0.9}\n"
          "methods:\n"
          "  ngram:\n"
          "    drafters: [{name: ngram, sampling: {temperature: 0.5}}]\n"
          "    policy: {name: chain, nodes: 3}\n"
          "    verifier: {name: multi_round}\n"
          "matrix:\n"
          "  sampling.temperature: [0, 1]\n"
          "  target.weights: [f32, q8]\n"
          "  limits.max_new_tokens: [3, 5]\n"
          "  seeds: [[1], [2]]\n"
          "  limits.ignore_eos: [true, false]\n"
          "  batch: [1, 2]\n",
      shelf);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->cells.size(), 128U);
  int together = 0;
  for (const PreparedCell& cell : run->cells) {
    const PreparedCell& plain = run->cells[cell.description.baseline()];
    EXPECT_EQ(plain.description.method(), kPlainMethod);
    EXPECT_TRUE(plain.method.decoder->method().trunks.empty());
    EXPECT_EQ(plain.method.target.model, cell.method.target.model);
    EXPECT_EQ(plain.description.seed(), cell.description.seed());
    EXPECT_EQ(plain.stop.max_new_tokens, cell.stop.max_new_tokens);
    EXPECT_EQ(plain.stop.end_of_text, cell.stop.end_of_text);
    EXPECT_EQ(plain.batch, cell.batch);
    together += cell.batch == 2 ? 1 : 0;
    EXPECT_EQ(cell.description.batch(), cell.batch == 2 ? 2U : 0U)
        << "alone needs no saying";
    const SamplingOptions& own = cell.method.decoder->method().rule.options();
    const SamplingOptions& its = plain.method.decoder->method().rule.options();
    EXPECT_EQ(its.temperature, own.temperature);
    EXPECT_EQ(its.top_p, own.top_p);
    EXPECT_EQ(own.top_p, 0.9);
  }
  EXPECT_EQ(together, 64);
}

// How often a cell's files have one of this path.
int CountFile(const PreparedCell& cell, const std::string& path) {
  const auto& files = cell.description.files();
  return static_cast<int>(std::count_if(
      files.begin(), files.end(),
      [&](const records::File& file) { return file.path() == path; }));
}

std::string Normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

// A draft vocabulary that is found is described as one that is named.
TEST(PreparedRun, TellsTheDraftVocabularyThatIsUsed) {
  const EditedModel small("models/pycode-draft-1");
  const std::string list = Normal(small.folder().Write(
      "vocabulary.json", ToJson(DraftVocabulary{"", 2048, {5, 7, 11}})));
  const std::string other = Normal(
      WriteTestFile(ToJson(DraftVocabulary{"", 2048, {5, 7}}), "_other.json"));
  const auto method = [&](const std::string& name, const std::string& keys) {
    return absl::StrCat(
        "  ", name, ":\n    models: {draft: {directory: ", small.path(),
        "}}\n    drafters: [{name: small_model, model: draft", keys,
        "}]\n    policy: {name: chain, nodes: 2}\n"
        "    verifier: {name: multi_round}\n");
  };
  ModelShelf shelf(OneThread());
  const auto run = Prepare(
      absl::StrCat(Head("prompts: 1"), "methods:\n", method("found", ""),
                   method("named", absl::StrCat(", vocabulary: ", list)),
                   method("all", ", vocabulary: all"),
                   method("other", absl::StrCat(", vocabulary: ", other))),
      shelf);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_THAT(run->cells, SizeIs(5));
  const auto trunk = [&](int cell) {
    return run->cells[static_cast<std::size_t>(cell)].description.trunks(0);
  };
  for (const int cell : {1, 2}) {
    ASSERT_THAT(trunk(cell).drafted(), SizeIs(1));
    EXPECT_EQ(trunk(cell).drafted(0).model(), "draft");
    EXPECT_EQ(trunk(cell).drafted(0).file(), list);
    EXPECT_EQ(trunk(cell).drafted(0).tokens(), 3U);
    EXPECT_EQ(CountFile(run->cells[static_cast<std::size_t>(cell)], list), 1);
  }
  EXPECT_EQ(trunk(1).identity(), trunk(2).identity());
  EXPECT_NE(trunk(1).identity(), trunk(3).identity());
  EXPECT_NE(trunk(1).identity(), trunk(4).identity());
  EXPECT_NE(trunk(3).identity(), trunk(4).identity());
  ASSERT_THAT(trunk(3).drafted(), SizeIs(1));
  EXPECT_EQ(trunk(3).drafted(0).file(), "");
  EXPECT_EQ(trunk(4).drafted(0).file(), other);
  EXPECT_EQ(CountFile(run->cells[4], other), 1);
  EXPECT_THAT(
      run->notes,
      ElementsAre(
          absl::StrCat("the draft vocabulary of draft: 2 of 2048 tokens, ",
                       other),
          absl::StrCat("the draft vocabulary of draft: 3 of 2048 tokens, ",
                       list)));
}

// However the methods of an experiment say it, a chain is one drafter's.
TEST(PreparedRun, HasOneChainForADraftVocabularyFoundOrNamed) {
  const EditedModel small("models/pycode-draft-1");
  const std::string list = small.folder().Write(
      "vocabulary.json", ToJson(DraftVocabulary{"", 2048, {5, 7, 11}}));
  const auto tree = [&](const std::string& keys) {
    return absl::StrCat("{models: {draft: {directory: ", small.path(),
                        "}}, drafters: [{name: small_model, model: draft", keys,
                        "}], policy: {name: expansion, branching: [2, 1]}, "
                        "verifier: {name: multi_round}}\n");
  };
  ModelShelf shelf(OneThread());
  const auto run = Prepare(
      absl::StrCat(
          Head("prompts: 1"), "methods:\n  found: ", tree(""),
          "  named: ", tree(absl::StrCat(", vocabulary: ", list)),
          "  all: ", tree(", vocabulary: all"),
          "compare:\n  chains:\n    chains:\n    - {target: pycode-target, "
          "drafter: ",
          std::filesystem::path(small.path()).filename().string(),
          ", temperature: 1, length: 4, speed: 1}\n  verifiers: false\n"),
      shelf);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->cells, SizeIs(6));  // two chains: of the list, and of all
}

// Reads at once, and multiplies once a second.
class SlowSums : public ReferenceBackend {
 public:
  absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(
      std::size_t /*bytes*/, const Clock& /*clock*/) override {
    return std::make_unique<Limits>();
  }

 private:
  struct Limits : Gauge {
    absl::StatusOr<double> ReadBandwidth() override { return 1e30; }
    absl::StatusOr<double> Peak(WeightFormat /*format*/) override { return 1; }
  };
};

// Where nothing but sums takes time, an estimate counts tokens by hand.
TEST(RunEstimate, CountsThePassesOfEveryCell) {
  ModelShelf shelf(OneThread());
  const auto estimate = [&](const std::string& method) {
    const auto run = Prepare(
        absl::StrCat(Head("prompts: 1"),
                     "limits: {max_new_tokens: 5}\n"
                     "methods:\n"
                     "  own:\n"
                     "    models: {draft: {directory: models/pycode-draft-1}}\n"
                     "    drafters: [{name: small_model, model: draft}]\n"
                     "    verifier: {name: multi_round}\n",
                     method),
        shelf);
    EXPECT_TRUE(run.ok()) << run.status();
    const PreparedCell& cell = run->cells.back();
    const double target = cell.target.model->facts().operations_per_token;
    const double draft =
        cell.method.models.back().model->facts().operations_per_token;
    const double read =
        static_cast<double>(run->prompts[0].tokens.size()) * target;
    SlowSums backend;
    const auto shards =
        EstimateShards(*run, 1, records::PROMPTS, {}, backend, SteadyClock());
    EXPECT_TRUE(shards.ok()) << shards.status();
    const RunEstimate& seconds = shards->front();
    // Without what plain decoding takes, and without reading the prompt.
    const double plain = read + 5 * target;
    EXPECT_EQ(CountRecords(*run, {}), 2);
    EXPECT_NEAR(seconds.longest_s / (seconds.most_s - plain), 1, 1e-9);
    return std::vector<double>{(seconds.least_s - plain - read) / 5,
                               (seconds.most_s - plain - read) / 5, target,
                               draft};
  };
  const auto expect = [&](const std::string& method, int rows, int levels) {
    const std::vector<double> found = estimate(method);
    const double round = (rows + 1) * found[2] + levels * found[3];
    EXPECT_NEAR(found[1] / round, 1, 1e-9) << method;
    EXPECT_NEAR(found[0] / round * (levels + 1), 1, 1e-9) << method;
  };
  expect("    policy: {name: chain, nodes: 3}\n", 3, 3);
  const std::string tree = "    policy: {name: expansion, branching: [2, 2]}\n";
  expect(tree, 6, 2);
  // Of 6 nodes on 2 levels at most 5 paths of 3 rows.
  expect(tree + "    score: unmerged\n", 15, 2);
}

// What was measured on this machine comes before what the sizes of models say.
TEST(RunEstimate, TakesCostsOfThisMachine) {
  ModelShelf shelf(OneThread());
  const auto run =
      Prepare(Head("prompts: 1") +
                  "limits: {max_new_tokens: 5}\n"
                  "methods:\n"
                  "  own:\n"
                  "    models: {draft: {directory: models/pycode-draft-1}}\n"
                  "    drafters: [{name: small_model, model: draft}]\n"
                  "    policy: {name: chain, nodes: 3}\n"
                  "    verifier: {name: multi_round}\n",
              shelf);
  ASSERT_TRUE(run.ok()) << run.status();
  SlowSums backend;
  const auto seconds = [&](const Costs& costs) {
    return EstimateShards(*run, 1, records::PROMPTS, costs, backend,
                          SteadyClock())
        .value()
        .front()
        .most_s;
  };
  const auto costs = [](const std::string& machine) {
    Costs measured;
    const CostSetting setting = {.target = "pycode-target", .weights = "bf16"};
    measured.passes.push_back({.setting = setting,
                               .ms = {{1, 4e9}, {4, 8e9}},
                               .from = {.machine = machine}});
    measured.levels.push_back({.setting = setting,
                               .drafter = "pycode-draft-1",
                               .ms = 1e9,
                               .from = {.machine = machine}});
    return measured;
  };
  const double read = static_cast<double>(run->prompts[0].tokens.size()) *
                      run->cells[0].target.model->facts().operations_per_token;
  // Both read the prompt; then five rounds of one token, and five of a chain.
  const double expected = 2 * read + 5 * 4e6 + 5 * (8e6 + 3 * 1e6);
  const std::string here = MachineText(DescribeMachine(backend));
  EXPECT_NEAR(seconds(costs(here)) / expected, 1, 1e-9);
  EXPECT_EQ(seconds(costs("another")), seconds({}));
  EXPECT_NE(seconds(costs(here)), seconds({}));
}

TEST(PreparedRun, KnowsWhichCellsCarryState) {
  const std::string learning = Head("prompts: 1") +
                               "methods:\n"
                               "  ngram:\n"
                               "    drafters: [{name: ngram, reset: never}]\n"
                               "    policy: {name: chain, nodes: 3}\n"
                               "    verifier: {name: multi_round}\n";
  ModelShelf shelf(OneThread());
  const auto run = Prepare(learning, shelf);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_FALSE(run->cells[0].carries_state);
  EXPECT_TRUE(run->cells[1].carries_state);
}

TEST(PreparedRun, NeedsPromptsOfTheKindsWanted) {
  ModelShelf shelf(OneThread());
  const auto run = Prepare(Head("kinds: [poems]") + "methods: {}\n", shelf);
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(run.status().message()),
              HasSubstr("unknown kind of prompt 'poems'"));
}

TEST(PreparedRun, DecodesUpToTwiceABatchInOneGo) {
  PreparedRun run;
  run.prompts.resize(9);
  run.cells.resize(2);
  EXPECT_THAT(run.Units(), SizeIs(9));
  run.cells[1].batch = 2;
  EXPECT_THAT(run.Units(),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5),
                          ElementsAre(6, 7, 8)));
}

// A drafter larger than its target, and one that costs next to nothing.
TEST(Check, WarnsWhereADraftedLevelCostsMoreThanAPass) {
  const std::string models = std::filesystem::absolute("models").string();
  const auto warning = [&](const std::string& drafter) {
    const Outcome outcome = RunProgram(
        "check " +
        WriteTestFile(absl::StrCat(
            "question: q\n"
            "target: {directory: ",
            models,
            "/pycode-draft-1}\n"
            "workload: {file: ",
            std::filesystem::absolute("experiments/workloads/pycode.jsonl")
                .string(),
            ", prompts: 1}\n"
            "methods:\n"
            "  a:\n",
            drafter,
            "    policy: {name: chain, nodes: 2}\n"
            "    verifier: {name: multi_round}\n")));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.err;
  };
  EXPECT_THAT(warning(absl::StrCat("    models: {large: {directory: ", models,
                                   "/pycode-target}}\n"
                                   "    drafters: [{name: small_model, model: "
                                   "large}]\n")),
              HasSubstr("no method can be faster than plain decoding here: a "
                        "drafted level costs "));
  EXPECT_THAT(warning("    drafters: [{name: ngram}]\n"),
              Not(HasSubstr("no method can be faster")));
}

// What the file says wrongly, and what is found wrong where it points to, with
// models opened or without.
TEST(PreparedRun, ChecksAllOfItAtOnce) {
  const std::string models = std::filesystem::absolute("models").string();
  const std::string text = absl::StrCat(
      "question: q\nsede: 3\n"
      "target: {directory: ",
      models,
      "/pycode-target, weigths: f32}\n"
      "workload: {file: none.jsonl, promts: 2}\n"
      "sampling: {temprature: 1}\n"
      "methods:\n"
      "  a:\n"
      "    models: {draft: {directory: ",
      models,
      "/pycode-draft-1}}\n"
      "    drafters:\n"
      "      - {name: small_modle, model: draft}\n"
      "      - {name: ngram, lines: 3}\n"
      "    trunks:\n"
      "      - {drafter: 0, policy: {name: chain, gama: 4}}\n"
      "      - {drafter: 1, policy: {name: best_frist}}\n"
      "    verifier: {name: multi_rund}\n"
      "compare: {refrence: a}\n");
  const auto errors = [](const std::string& written) {
    const Outcome outcome = RunProgram("check " + WriteTestFile(written));
    EXPECT_EQ(outcome.code, 2);
    return outcome.output;
  };
  const std::vector<std::string> found = {
      ".yaml:2:1: experiment: unknown key 'sede'",
      "workload: unknown key 'promts'",
      "sampling: unknown key 'temprature'",
      "compare: unknown key 'refrence'",
      "none.jsonl: No such file or directory",
      "unknown verifier 'multi_rund'",
      "policy chain: unknown key 'gama'",
      "unknown policy 'best_frist'"};
  const std::string told = errors(text);
  for (const std::string& one : found) EXPECT_THAT(told, HasSubstr(one));
  EXPECT_THAT(told, AllOf(HasSubstr("target: unknown key 'weigths'"),
                          HasSubstr("unknown drafter 'small_modle'"),
                          HasSubstr("drafter ngram: unknown key 'lines'")));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 11) << told;
  // Without a target nothing can be known of drafters.
  const std::string without = errors(
      absl::StrReplaceAll(text, {{"target: {directory", "target: {dir"}}));
  for (const std::string& one : found) EXPECT_THAT(without, HasSubstr(one));
  EXPECT_THAT(without, HasSubstr("target: unknown key 'dir'"));
  EXPECT_EQ(std::count(without.begin(), without.end(), '\n'), 9) << without;
}

// A run of two baselines, the second's passes dear.
PreparedRun Repeated(int batch, const std::string& memory) {
  PreparedRun run;
  run.cells.resize(3);
  const char* const names[] = {"plain, x=1", "plain, x=2", "chain, x=2"};
  for (std::size_t i = 0; i < 3; ++i) {
    run.cells[i].description.set_name(names[i]);
    run.cells[i].description.set_method(i < 2 ? "plain" : "chain");
    run.cells[i].description.set_baseline(i == 0 ? 0 : 1);
    run.cells[i].setting = i;
  }
  run.cells[2].description.add_trunks();
  run.cells[1].batch = batch;
  run.cells[1].memory = memory;
  run.prompts.resize(8);
  RepeatPlain(run);
  return run;
}

TEST(Repeats, StandAfterTheOthersUnderTheBaselinesAxes) {
  const PreparedRun run = Repeated(1, "");
  ASSERT_THAT(run.cells, SizeIs(5));
  for (const std::size_t i : {0U, 1U}) {
    const PreparedCell& repeat = run.cells[3 + i];
    EXPECT_TRUE(IsRepeat(repeat.description));
    EXPECT_EQ(repeat.description.name(), absl::StrCat("plain_2, x=", i + 1));
    EXPECT_EQ(repeat.description.baseline(), i);
    EXPECT_EQ(repeat.setting, run.cells[i].setting);
    EXPECT_FALSE(IsRepeat(run.cells[i].description));
  }
}

TEST(Repeats, HaveEveryThirdUnitWhereAPassIsDear) {
  const auto units_of = [](const PreparedRun& run, std::size_t cell,
                           const Shard& shard) {
    const Share share(run, shard);
    std::vector<int> units;
    for (int unit = 0; unit < 8; ++unit)
      if (share.Has(cell, static_cast<std::size_t>(unit)))
        units.push_back(unit);
    return units;
  };
  for (const auto& [batch, memory] : {std::pair(1, "1GB"), std::pair(4, "")}) {
    const PreparedRun run = Repeated(batch, memory);
    EXPECT_THAT(units_of(run, 3, {}), SizeIs(8));
    EXPECT_THAT(units_of(run, 4, {}), ElementsAre(0, 3, 6));
    // Of a shard the third of its own.
    EXPECT_THAT(units_of(run, 4, {.number = 1, .count = 2}), ElementsAre(1, 7));
  }
  EXPECT_THAT(units_of(Repeated(1, ""), 4, {}), SizeIs(8));
}

// And no shard is made of them alone. A baseline of no method is a cell of its
// own.
TEST(Repeats, GoWithTheirBaselinesWhereCellsAreCut) {
  const PreparedRun run = Repeated(1, "");
  const Share only(run, {.cut = records::CELLS});
  for (std::size_t cell = 0; cell < 5; ++cell) EXPECT_TRUE(only.Has(cell, 0));
  const Share second(run, {.number = 1, .count = 2, .cut = records::CELLS});
  for (std::size_t cell = 0; cell < 5; ++cell)
    EXPECT_EQ(second.Has(cell, 0), cell == 1 || cell == 2 || cell == 4);
  EXPECT_THAT(CheckShards(run, {.count = 3, .cut = records::CELLS}).message(),
              HasSubstr("has 2 cells beside the baselines"));
}

}  // namespace
}  // namespace banyan
