// What commands are given: inputs without end, too few prompts, empty values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// Tests run in the project's root.
class Inputs : public testing::Test {
 protected:
  static void ExpectRefused(const std::string& command,
                            const std::string& reason) {
    const Outcome outcome = RunProgram(command);
    EXPECT_EQ(outcome.code, 2) << command << "\n" << outcome.output;
    EXPECT_THAT(outcome.err, HasSubstr(reason)) << command;
  }

  const TestFolder folder_;
};

TEST_F(Inputs, WithoutEndAreRefused) {
  for (const char* lines : {"", " --lines"})
    ExpectRefused(absl::StrCat("text tokenize --model models/pycode-target",
                               lines, " < /dev/zero"),
                  "standard input: expected a text of at most 67108864 bytes");
  ExpectRefused(
      absl::StrCat("make layers --model models/pycode-target --method "
                   "configs/methods/early_exit.yaml --workload "
                   "experiments/workloads/pycode.jsonl --prompts 1 --steps 1 "
                   "--max-new-tokens 4 --out ",
                   folder_.path(), "/m.yaml --path /dev/zero"),
      "/dev/zero: expected an ordinary file, found a device");
}

TEST_F(Inputs, OfFewPromptsAreAllTakenUnlessMoreAreWanted) {
  const std::string workload =
      folder_.Write("w.jsonl", "{\"id\": \"a\", \"prompt\": \"def f(x):\"}\n");
  const std::string doctor =
      "doctor --model models/pycode-target --drafter models/pycode-draft-1 "
      "--workload " +
      workload;
  const Outcome all = RunProgram(doctor);
  EXPECT_EQ(all.code, 0) << all.output;
  ExpectRefused(doctor + " --prompts 8",
                "w.jsonl: expected 8 prompts or more of the kinds wanted, "
                "found 1");
  ExpectRefused(doctor + " --prompts x", "expected a whole number");
}

TEST_F(Inputs, OfSettingsHaveAValue) {
  ExpectRefused("check configs/hello.yaml --set limits.max_new_tokens=",
                "--set limits.max_new_tokens: expected a value after =, found "
                "none");
}

TEST_F(Inputs, ThatAreEmptyTextsAreNotTakenForNothing) {
  const std::string generate =
      "generate --model models/pycode-target --prompt def ";
  ExpectRefused(generate + "--memory ''",
                "--memory: expected a size such as 600MB or 1.5GB, found ''");
  ExpectRefused(generate + "--gather-timeout ''",
                "--gather-timeout: expected a number of seconds, found ''");
  ExpectRefused(generate + "--link ''",
                "--link: expected a link such as 1Gbit,0.2ms, found ''");
  for (const char* option : {"--temperature", "--device", "--weights",
                             "--instruction-set", "--model"})
    ExpectRefused(absl::StrCat(generate, option, " ''"),
                  absl::StrCat(option, ": expected a value, found ''"));
  ExpectRefused("check ''", "FILE: expected a value, found ''");
  ExpectRefused("check configs/hello.yaml --out ''",
                "--out: expected a value, found ''");
  const std::string experiment =
      folder_.Write("e.yaml",
                    "question: q\n"
                    "target: {directory: models/pycode-target, memory: ''}\n"
                    "workload: {file: w.jsonl}\n"
                    "methods: {}\n");
  ExpectRefused("check " + experiment,
                "e.yaml:2:51: target: 'memory' must be a size such as 600MB or "
                "1.5GB, found ''");
}

}  // namespace
}  // namespace banyan
