// A device that is lost in the middle of a run: an error that names it, and a
// run that goes on from what was recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/read_experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"
#include "experiments/run/runner.h"
#include "tests/experiments/test_files.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kPrompts = 4;

// Runs the experiment on a device that is lost after `launches` launches, into
// the folder. A run that is there is resumed.
absl::Status RunOn(const std::string& folder, int launches) {
  BANYAN_ASSIGN_OR_RETURN(const Params file,
                          LoadYamlFile(absl::StrCat(folder, "/a.yaml")));
  BANYAN_ASSIGN_OR_RETURN(const Experiment experiment,
                          ReadExperiment(file, {}));
  BANYAN_ASSIGN_OR_RETURN(const Workload workload,
                          ReadWorkload(experiment.workload.file));
  BANYAN_ASSIGN_OR_RETURN(
      std::shared_ptr<Backend> backend,
      CudaBackend::Create(
          std::make_shared<HostDevice>(HostDeviceOptions{.launches = launches}),
          on_host::kOpKernels, "emulated_gpu"));
  const auto clock = std::make_shared<SteadyClock>();
  ModelShelf shelf(backend);
  BANYAN_ASSIGN_OR_RETURN(PreparedRun run,
                          PrepareRun(experiment, workload, shelf, clock));
  BANYAN_ASSIGN_OR_RETURN(
      const records::Context context,
      DescribeRun(experiment, workload, run, {}, *backend, *clock));
  BANYAN_ASSIGN_OR_RETURN(RunFile out, OpenRunFile(folder, context));
  return RunCells({run, experiment.hash, {}, out},
                  [](const records::PromptRecord&, int, int) {});
}

// By record: its cell, its prompt and its tokens.
std::vector<std::string> Recorded(const std::string& folder) {
  const auto file = ReadRecordFile(RecordPath(folder, {}));
  EXPECT_TRUE(file.ok()) << file.status();
  std::vector<std::string> records;
  for (const records::PromptRecord& record : file->prompts)
    records.push_back(absl::StrCat(record.cell(), " ", record.id(), " ",
                                   absl::StrJoin(record.tokens(), ",")));
  return records;
}

class LostDevice : public FolderTest {
 protected:
  std::string Folder(const std::string& name) {
    const std::string folder = absl::StrCat(OwnFolder(), "/", name);
    std::filesystem::create_directories(folder);
    std::string prompts;
    for (int i = 0; i < kPrompts; ++i)
      absl::StrAppend(&prompts, R"({"id": "p)", i, R"(", "ids": [1, )", 3 + i,
                      "]}\n");
    WriteText(folder + "/prompts.jsonl", prompts);
    WriteText(folder + "/a.yaml",
              absl::StrCat(
                  "question: Does a run survive?\n"
                  "target: {directory: ",
                  std::filesystem::absolute("tests/goldens/checkpoints/llama")
                      .string(),
                  "}\n"
                  "workload: {file: prompts.jsonl}\n"
                  "limits: {max_new_tokens: 4, ignore_eos: true}\n"
                  "methods:\n"
                  "  ngram:\n"
                  "    drafters: [{name: ngram}]\n"
                  "    policy: {name: chain, nodes: 2}\n"
                  "    verifier: {name: greedy}\n"
                  "sampling: {temperature: 0}\n"));
    return folder;
  }
};

TEST_F(LostDevice, LeavesWhatWasRecordedAndARunThatGoesOn) {
  const std::string whole = Folder("whole");
  const absl::Status done = RunOn(whole, -1);
  ASSERT_TRUE(done.ok()) << done;
  const std::vector<std::string> all = Recorded(whole);
  ASSERT_EQ(all.size(), 2 * kPrompts);

  const std::string folder = Folder("lost");
  // As many as there are in about half of it.
  const absl::Status lost = RunOn(folder, 600);
  EXPECT_THAT(std::string(lost.message()),
              AllOf(HasSubstr("cell "), HasSubstr(", prompt p"),
                    HasSubstr("emulated_gpu: kernel "),
                    HasSubstr("the device is lost")));
  const std::vector<std::string> some = Recorded(folder);
  EXPECT_GT(some.size(), 0U);
  EXPECT_LT(some.size(), all.size());
  EXPECT_EQ(some, std::vector<std::string>(
                      all.begin(),
                      all.begin() + static_cast<std::ptrdiff_t>(some.size())));

  const absl::Status gone_on = RunOn(folder, -1);
  EXPECT_TRUE(gone_on.ok()) << gone_on;
  EXPECT_EQ(Recorded(folder), all);
}

}  // namespace
}  // namespace banyan
