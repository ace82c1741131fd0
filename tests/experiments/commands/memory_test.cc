// A program whose memory runs out says so and ends by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/little_memory.h"
#include "tests/support/sanitized.h"

namespace banyan {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr rlim_t kMegabyte = rlim_t{1} << 20;

// Tests run in the project's root.
class Memory : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized)
      GTEST_SKIP() << "the sanitizer takes all addresses for itself";
  }

  const TestFolder folder_;
};

// Wherever it runs out: threads, files, weights, caches, a pass.
TEST_F(Memory, RunsOutAnywhereWithAMessage) {
  int ended = 0;
  // With less the system does not even load the program's libraries, or one of
  // them ends before the program begins.
  rlim_t least = 16;
  for (bool begins = false; !begins; least += begins ? 0 : 1) {
    ASSERT_LT(least, 40U);
    const LittleMemory little(least * kMegabyte);
    begins = RunProgram("--version").code == 0;
  }
  for (rlim_t megabytes = least; megabytes <= 60; ++megabytes) {
    const LittleMemory little(megabytes * kMegabyte);
    const Outcome outcome = RunProgram(
        "generate --model models/pycode-target --prompt 'def f(' "
        "--max-new-tokens 2 --threads 2");
    // The loader of the system, the shell and the program each say it.
    EXPECT_THAT(outcome.code, AnyOf(0, 1, 2, 127)) << megabytes;
    EXPECT_THAT(outcome.output, Not(HasSubstr("terminate called")));
    if (outcome.code == 1 || outcome.code == 2) {
      EXPECT_THAT(outcome.err, StartsWith("banyan: ")) << megabytes;
    }
    if (outcome.code == 0) ++ended;
  }
  EXPECT_GT(ended, 0);
}

TEST_F(Memory, RunsOutWhileAnIndexIsBuilt) {
  const std::string out = folder_.path() + "/index";
  const LittleMemory little(300 * kMegabyte);  // a shard takes 400
  const Outcome outcome = RunProgram(absl::StrCat(
      "make index --model models/pycode-target --out ", out, " README.md"));
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.err, HasSubstr("banyan: out of memory: expected more"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

// The gauge of bandwidth wants more than a small model's run does.
TEST_F(Memory, IsNotWantedByARunForItsGauge) {
  const std::string workload =
      folder_.Write("w.jsonl", "{\"id\": \"a\", \"prompt\": \"def f(x):\"}\n");
  const std::string experiment = folder_.Write(
      "e.yaml",
      absl::StrCat("question: Does it run?\ntarget: {directory: ",
                   std::filesystem::absolute("models/pycode-target").string(),
                   "}\nworkload: {file: ", workload,
                   "}\nlimits: {max_new_tokens: 2}\nmethods:\n  ngram:\n"
                   "    drafters: [{name: ngram}]\n"
                   "    policy: {name: chain, nodes: 2}\n"
                   "    verifier: {name: multi_round}\n"));
  const LittleMemory little(250 * kMegabyte);
  const Outcome outcome = RunProgram(absl::StrCat(
      "run ", experiment, " --threads 2 --out ", folder_.path(), "/out"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

}  // namespace
}  // namespace banyan
