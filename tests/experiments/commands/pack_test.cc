// banyan pack, and packed models of which a part is on disk, as a user meets
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/refused_call.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kTarget[] = "models/pycode-target";

class PackCommand : public testing::Test {
 protected:
  std::string Path() const { return folder_.path() + "/target.pack"; }
  nlohmann::json Pack(const std::string& weights) const {
    return RunForJson(absl::StrCat("pack --json --model ", kTarget,
                                   " --weights ", weights, " --out ", Path()));
  }
  std::string Generate(const std::string& model) const {
    return absl::StrCat("generate --json --prompt 'def add(a, b):' ",
                        "--temperature 0 --max-new-tokens 12 ",
                        "--method configs/methods/copy.yaml --model ", model);
  }
  TestFolder folder_;
};

TEST_F(PackCommand, GivesAFileThatGeneratesTheSameFromDisk) {
  struct Case {
    const char* weights;
    const char* memory;
  };
  for (const auto& [weights, memory] :
       {Case{"f32", "4MB"}, Case{"bf16", "2.5MB"}, Case{"q8", "1MB"}}) {
    const nlohmann::json packed = Pack(weights);
    ASSERT_FALSE(packed.is_null());
    EXPECT_EQ(packed.at("weights"), weights);
    EXPECT_EQ(packed.at("resumed_bytes"), 0);
    const nlohmann::json expected =
        RunForJson(Generate(absl::StrCat(kTarget, " --weights ", weights)));
    const nlohmann::json whole = RunForJson(Generate(Path()));
    const nlohmann::json streamed =
        RunForJson(Generate(absl::StrCat(Path(), " --memory ", memory)));
    ASSERT_FALSE(streamed.is_null());
    EXPECT_GT(streamed.at("disk_bytes_per_pass").get<double>(), 1e5);
    EXPECT_EQ(expected.at("ids"), whole.at("ids"));
    EXPECT_EQ(expected.at("ids"), streamed.at("ids"));
    EXPECT_EQ(0, whole.at("disk_bytes_per_pass"));
  }
}

// Where the system refuses io_uring, or gives it and refuses its use, threads
// read.
TEST_F(PackCommand, GeneratesTheSameWhereTheSystemRefusesIoUring) {
  Pack("bf16");
  const std::string generate = Generate(Path() + " --memory 2500kB");
  const nlohmann::json expected = RunForJson(generate);
  for (const std::pair<int, int>& refused :
       {std::pair(SYS_io_uring_setup, EPERM),
        std::pair(SYS_io_uring_enter, EPERM),
        std::pair(SYS_io_uring_enter, EAGAIN),
        std::pair(SYS_io_uring_enter, EINTR),
        std::pair(SYS_io_uring_enter, EBADF)}) {
    const int found = InChild([&] {
      if (!RefuseCall(static_cast<unsigned>(refused.first),
                      static_cast<unsigned>(refused.second)))
        return 2;
      return RunForJson(generate).at("ids") == expected.at("ids") ? 0 : 1;
    });
    if (found == 2) GTEST_SKIP() << "this system filters no calls";
    EXPECT_EQ(0, found) << refused.first << " fails with " << refused.second;
  }
}

TEST_F(PackCommand, SaysWhatIsReadFromDisk) {
  Pack("bf16");
  EXPECT_GT(RunForJson(Generate(Path() + " --memory 2500kB"))
                .at("disk_bytes_per_pass")
                .get<double>(),
            1e5);
  EXPECT_THAT(RunProgram("generate --ids 1,2 --max-new-tokens 2 --model " +
                         Path() + " --memory 2500kB")
                  .err,
              HasSubstr("MB of the weights are read from disk in every pass"));
}

TEST_F(PackCommand, MeasuresTheDiskBesideThePasses) {
  Pack("bf16");
  const std::string measure =
      absl::StrCat("measure --batch 1,4 --context 8 --rounds 2 --model ",
                   Path(), " --memory 2500kB");
  const nlohmann::json json = RunForJson(measure + " --json");
  EXPECT_GT(json.at("disk_bytes").get<double>(), 1e5);
  EXPECT_GT(json.at("free_rows").get<double>(), 0);
  for (const nlohmann::json& timing : json.at("timings")) {
    double sum = 0;
    for (const nlohmann::json& pass : timing.at("passes")) {
      EXPECT_GT(pass.at("disk_bytes_per_s").get<double>(), 0);
      sum += std::max({json.at("bytes").get<double>() /
                           pass.at("bytes_per_s").get<double>(),
                       json.at("disk_bytes").get<double>() /
                           pass.at("disk_bytes_per_s").get<double>(),
                       timing.at("tokens").get<double>() *
                           json.at("operations_per_token").get<double>() /
                           pass.at("operations_per_s").get<double>()}) *
             1e3 / pass.at("ms").get<double>();
    }
    EXPECT_NEAR(timing.at("share_of_limit").get<double>(), sum / 2, 1e-9);
  }
  EXPECT_THAT(RunProgram(measure).out,
              AllOf(HasSubstr("are read from disk in every pass, at"),
                    HasSubstr("rows multiply in that time"),
                    HasSubstr("MB of activations")));
  // Eight rows of the context, then 64.
  const nlohmann::json wider =
      RunForJson(absl::StrReplaceAll(measure, {{"1,4", "1,64"}}) + " --json");
  const auto activations = json.at("activation_bytes").get<double>();
  EXPECT_GT(activations, 0);
  EXPECT_GT(wider.at("activation_bytes").get<double>(), 4 * activations);
  EXPECT_TRUE(RunForJson(absl::StrCat("measure --json --batch 1 --rounds 1 ",
                                      "--model ", kTarget))
                  .at("free_rows")
                  .is_null());
}

TEST_F(PackCommand, WarnsOfADraftVocabularyThatItLeavesOut) {
  const EditedModel drafter("models/pycode-draft-1");
  const std::string list = drafter.folder().Write(
      "vocabulary.json",
      R"({"tokenizer": "", "vocab_size": 2048, "tokens": [2, 3, 5]})");
  const Outcome packed = RunProgram(absl::StrCat(
      "pack --model ", drafter.path(), " --weights bf16 --out ", Path()));
  EXPECT_EQ(packed.code, 0) << packed.err;
  EXPECT_THAT(packed.err, HasSubstr(list + " is not in the pack"));
  EXPECT_EQ(RunProgram(absl::StrCat("pack --model ", kTarget,
                                    " --weights bf16 --out ", folder_.path(),
                                    "/other.pack"))
                .err,
            "");
}

TEST_F(PackCommand, RefusesByName) {
  Pack("bf16");
  const auto says = [&](const std::string& options, const std::string& what) {
    const Outcome outcome =
        RunProgram("generate --ids 1,2 --max-new-tokens 2 --model " + options);
    EXPECT_EQ(2, outcome.code) << options;
    EXPECT_THAT(outcome.err, HasSubstr(what)) << options;
  };
  says(Path() + " --memory lots", "memory: expected a size such as 600MB");
  says(Path() + " --memory 9kB", "expected memory of at least");
  says(Path() + " --memory 3MB --device reference",
       "reference has no bound on memory; expected the device cpu");
  says(Path() + " --weights q8",
       "weights: expected bf16, as the model was packed, found q8");
  says(absl::StrCat(kTarget, " --memory 3MB"), "expected a packed model");
  EXPECT_THAT(RunProgram(absl::StrCat("pack --model ", kTarget, " --out ",
                                      folder_.path(), "/x"))
                  .err,
              HasSubstr("expected a file that ends in .pack"));
}

TEST_F(PackCommand, FollowsALinkAndRefusesTheModelAtItsEnd) {
  namespace fs = std::filesystem;
  Pack("q8");
  folder_.Write("old.pack", "old");
  fs::create_symlink("old.pack", folder_.path() + "/link.pack");
  const std::string pack =
      absl::StrCat("pack --weights q8 --model ", kTarget, " --out ");
  const Outcome done = RunProgram(pack + folder_.path() + "/link.pack");
  EXPECT_EQ(0, done.code) << done.output;
  EXPECT_TRUE(fs::is_symlink(folder_.path() + "/link.pack"));
  EXPECT_EQ(folder_.Read("target.pack"), folder_.Read("old.pack"));

  fs::create_directory(folder_.path() + "/model");
  for (const auto& file : fs::directory_iterator(kTarget))
    fs::copy(file, folder_.path() + "/model");
  fs::create_symlink("model/model.safetensors", folder_.path() + "/own.pack");
  const Outcome own =
      RunProgram(absl::StrCat("pack --weights q8 --model ", folder_.path(),
                              "/model --out ", folder_.path(), "/own.pack"));
  EXPECT_EQ(2, own.code);
  EXPECT_THAT(own.err, HasSubstr("--out: expected a file of its own"));
}

// What the next run makes of an unfinished file that was damaged, it says.
TEST_F(PackCommand, SaysWhatOfAnInterruptedRunIsPackedAgain) {
  Pack("bf16");
  const std::string whole = folder_.Read("target.pack");
  // As a run leaves it that is killed just before its end.
  std::string partial = whole;
  partial.replace(0, 8, "BANYANp.");
  partial.replace(12, 4, 4, '\0');
  const std::string key = "\"checksum\":\"";
  for (std::size_t at = partial.find(key); at != std::string::npos;
       at = partial.find(key, at + 1))
    partial.replace(at + key.size(), 8, 8, '0');
  const auto go_on = [&](const std::string& from) {
    std::filesystem::remove(Path());
    folder_.Write("target.pack.partial", from);
    const Outcome outcome = RunProgram(absl::StrCat(
        "pack --weights bf16 --model ", kTarget, " --out ", Path()));
    EXPECT_EQ(0, outcome.code) << outcome.output;
    EXPECT_EQ(whole, folder_.Read("target.pack"));
    return outcome.out;
  };
  EXPECT_THAT(go_on(partial), AllOf(HasSubstr("from an interrupted run"),
                                    Not(HasSubstr("packed again"))));
  partial[partial.size() / 2] ^= 1;
  EXPECT_THAT(go_on(partial),
              AllOf(HasSubstr("from an interrupted run"),
                    HasSubstr("; extents of an interrupted run that were "
                              "missing or damaged, and are packed again: 1")));
  EXPECT_THAT(go_on(partial.substr(0, partial.size() / 2)),
              HasSubstr("are packed again: "));
}

// A run over a damaged target ends with the place, and goes on once the file is
// whole again.
TEST_F(PackCommand, ADamagedTargetEndsARunWhichGoesOnAfterTheRepair) {
  Pack("bf16");
  folder_.Write("run.yaml",
                absl::StrCat("question: Does it go on?\n"
                             "target: {directory: target.pack, memory: "
                             "2500kB}\n"
                             "workload: {file: prompts.jsonl}\n"
                             "limits: {max_new_tokens: 6}\n"
                             "sampling: {temperature: 0}\n"
                             "methods: {copy: {drafters: [{name: copy}], "
                             "policy: {name: chain, nodes: 3}, "
                             "verifier: {name: greedy}}}\n"));
  folder_.Write("prompts.jsonl",
                "{\"id\": \"a\", \"kind\": \"k\", \"prompt\": \"def add(a, "
                "b):\"}\n{\"id\": \"b\", \"kind\": \"k\", \"prompt\": \"class "
                "Tree:\"}\n");
  const std::string run = absl::StrCat(
      "run ", folder_.path(), "/run.yaml --out ", folder_.path(), "/out");
  const std::string good = folder_.Read("target.pack");
  std::string bad = good;
  bad[good.size() * 3 / 4] = static_cast<char>(bad[good.size() * 3 / 4] ^ 1);
  folder_.Write("target.pack", bad);
  const Outcome damaged = RunProgram(run);
  EXPECT_NE(0, damaged.code);
  EXPECT_THAT(damaged.err, AllOf(HasSubstr("target.pack"),
                                 HasSubstr("the file was damaged")))
      << damaged.output;
  folder_.Write("target.pack", good);
  const Outcome repaired = RunProgram(run);
  EXPECT_EQ(0, repaired.code) << repaired.output;
  EXPECT_THAT(
      RunProgram("report --format markdown " + folder_.path() + "/out").out,
      HasSubstr("MB per pass from disk"));
}

}  // namespace
}  // namespace banyan
