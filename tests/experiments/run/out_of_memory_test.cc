// A run whose device has no memory left says where, keeps what was recorded,
// and goes on when it is run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/read_experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"
#include "experiments/run/runner.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/tight_device.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// By cell and prompt.
using Texts = std::map<std::pair<int, int>, std::vector<TokenId>>;

class Experimenter {
 public:
  Experimenter() {
    folder_.Write("prompts.jsonl",
                  "{\"id\": \"a\", \"ids\": [1, 5]}\n"
                  "{\"id\": \"b\", \"ids\": [1, 9, 4, 30]}\n"
                  "{\"id\": \"c\", \"ids\": [2, 7, 7, 8, 20, 21, 22]}\n");
    const auto file = ParseYaml(
        absl::StrCat(
            "question: Does a run survive?\n"
            "target: {directory: ",
            std::filesystem::absolute(GoldenFolder("llama")).string(),
            ", weights: bf16}\n"
            "workload: {file: ",
            folder_.path(),
            "/prompts.jsonl}\n"
            "limits: {max_new_tokens: 9, ignore_eos: true}\n"
            "methods:\n"
            "  copy:\n"
            "    models: {copy: {directory: target, weights: q8}}\n"
            "    drafters: [{name: small_model, model: copy}]\n"
            "    policy: {name: best_first, most_draws: 9, levels: 4}\n"
            "    verifier: {name: without_replacement}\n"),
        "experiment.yaml");
    Check(file.ok(), file.status().message());
    auto experiment = ReadExperiment(*file, {});
    Check(experiment.ok(), experiment.status().message());
    experiment_ = *std::move(experiment);
    auto workload = ReadWorkload(experiment_.workload.file);
    Check(workload.ok(), workload.status().message());
    workload_ = *std::move(workload);
  }

  // Into the folder `name`, as `banyan run` does; `sink` is called after each
  // record. The texts that are there then.
  absl::Status Run(const std::string& name, const TightDevice& device,
                   const std::function<void()>& sink, Texts& texts) {
    const auto clock = std::make_shared<SteadyClock>();
    ModelShelf shelf(device.backend());
    auto run = PrepareRun(experiment_, workload_, shelf, clock);
    Check(run.ok(), run.status().message());
    const auto context = DescribeRun(experiment_, workload_, *run, {},
                                     *device.backend(), *clock);
    Check(context.ok(), context.status().message());
    auto file = OpenRunFile(absl::StrCat(folder_.path(), "/", name), *context);
    Check(file.ok(), file.status().message());
    texts.clear();
    const auto note = [&](const records::PromptRecord& record) {
      texts[{static_cast<int>(record.cell()),
             static_cast<int>(record.prompt())}] = {record.tokens().begin(),
                                                    record.tokens().end()};
    };
    for (const records::PromptRecord& record : file->done) note(record);
    return RunCells({*run, experiment_.hash, {}, *file},
                    [&](const records::PromptRecord& record, int, int) {
                      note(record);
                      sink();
                    });
  }

 private:
  TestFolder folder_;
  Experiment experiment_;
  Workload workload_;
};

TEST(RunOutOfMemory, KeepsWhatWasRecordedAndGoesOn) {
  Experimenter experimenter;
  Texts undisturbed;
  const absl::Status whole = experimenter.Run(
      "whole", TightDevice(), [] {}, undisturbed);
  ASSERT_TRUE(whole.ok()) << whole;
  ASSERT_EQ(undisturbed.size(), 6U);

  // Each run is given a little more than the one before, from its first new
  // record on, until one of them comes to the end.
  std::size_t room = 0;
  int runs = 0;
  Texts texts;
  for (absl::Status status = absl::UnknownError(""); !status.ok(); ++runs) {
    ASSERT_LT(runs, 20);
    const Texts before = texts;
    TightDevice device;
    std::size_t fresh = 0;
    status = experimenter.Run(
        "limited", device,
        [&] {
          if (++fresh == 1) device.Limit(device.used() + room);
        },
        texts);
    for (const auto& [key, text] : texts) EXPECT_EQ(text, undisturbed.at(key));
    EXPECT_EQ(texts.size(), before.size() + fresh);
    if (status.ok()) break;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("cell "), HasSubstr(", prompt "),
                      HasSubstr(" bytes on the device, of which ")));
    room += TightDevice::Missing(status);
  }
  EXPECT_GT(runs, 1);
  EXPECT_EQ(texts, undisturbed);
}

}  // namespace
}  // namespace banyan
