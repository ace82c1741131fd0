// banyan convert, and GGUF files in the place of model directories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Gguf(const std::string& name) {
  return std::filesystem::absolute("tests/goldens/gguf/" + name + ".gguf")
      .string();
}

class Conversion : public testing::TestWithParam<std::string> {};

// What the two models say of a text, to the last bit.
TEST_P(Conversion, GivesADirectoryThatComputesTheSame) {
  const TestFolder folder;
  const std::string out = folder.path() + "/out";
  const nlohmann::json converted =
      RunForJson("convert " + Gguf(GetParam()) + " --json --out " + out);
  ASSERT_FALSE(converted.is_null());
  EXPECT_THAT(converted.at("source_format").get<std::string>(),
              testing::StartsWith("GGUF "));
  for (const char* weights : {"f32", "bf16", "q8"}) {
    const std::string score =
        std::string(
            "text score --json --text 'def add(a, b): return 123' --weights ") +
        weights + " --model ";
    const nlohmann::json one = RunForJson(score + Gguf(GetParam()));
    const nlohmann::json other = RunForJson(score + out);
    ASSERT_FALSE(one.is_null());
    EXPECT_GE(one.at("ids").size(), 10U);
    EXPECT_EQ(one, other) << weights;
  }
  const nlohmann::json text = RunForJson(
      "generate --json --ids 1,2,3 --max-new-tokens 4 --model " + out);
  EXPECT_EQ(text.at("source_format"), converted.at("source_format"));
}

INSTANTIATE_TEST_SUITE_P(All, Conversion,
                         testing::Values("gpt2", "llama", "qwen2", "qwen3",
                                         "types"),
                         [](const auto& name) { return name.param; });

TEST(ConvertCommand, KeepsWhatIsNoBlock) {
  const TestFolder folder;
  const nlohmann::json kept = RunForJson(
      "convert " + Gguf("llama") + " --json --out " + folder.path() + "/kept");
  const nlohmann::json wide =
      RunForJson("convert " + Gguf("llama") + " --weights f32 --json --out " +
                 folder.path() + "/wide");
  const nlohmann::json narrow =
      RunForJson("convert " + Gguf("llama") + " --weights bf16 --json --out " +
                 folder.path() + "/narrow");
  EXPECT_EQ(wide.at("bytes").get<double>(),
            4 * wide.at("parameters").get<double>());
  EXPECT_LT(kept.at("bytes"), wide.at("bytes"));
  EXPECT_LT(narrow.at("bytes"), kept.at("bytes"));
}

TEST(ConvertCommand, RefusesByName) {
  const TestFolder folder;
  const std::string out = " --out " + folder.path() + "/out";
  EXPECT_THAT(RunProgram("convert models/pycode-target" + out).output,
              HasSubstr("expected a file that ends in .gguf"));
  const Outcome missing = RunProgram("convert no.gguf" + out);
  EXPECT_NE(missing.code, 0);
  EXPECT_THAT(missing.output, HasSubstr("no.gguf: No such file or directory"));
  folder.Write("cut.gguf", "GGUF");
  EXPECT_THAT(
      RunProgram("convert " + folder.path() + "/cut.gguf" + out).output,
      HasSubstr("cut.gguf: at byte 4: expected a version, found the file's "
                "end"));
  EXPECT_THAT(
      RunProgram("generate --prompt a --model " + folder.path() + "/cut.gguf")
          .output,
      HasSubstr("cut.gguf: at byte 4: "));
  EXPECT_THAT(
      RunProgram("grow --layers 3 --model " + Gguf("llama") + out).output,
      HasSubstr("make it one with banyan convert"));
  folder.Write("full", "");
  EXPECT_NE(
      RunProgram("convert " + Gguf("llama") + " --out " + folder.path()).code,
      0);
}

// A file of the other kind as target and as drafter; records say so.
TEST(GgufModels, RunInExperiments) {
  const TestFolder folder;
  folder.Write("prompts.jsonl",
               "{\"id\": \"a\", \"prompt\": \"def add(a, b):\"}\n"
               "{\"id\": \"b\", \"prompt\": \"In 1969\"}\n");
  const std::string model = "{directory: " + Gguf("llama") + "}\n";
  folder.Write("e.yaml",
               "question: Does it run?\n"
               "target: " +
                   model +
                   "workload: {file: prompts.jsonl}\n"
                   "limits: {max_new_tokens: 8}\n"
                   "methods:\n"
                   "  chain:\n"
                   "    models:\n"
                   "      draft: " +
                   model +
                   "    drafters:\n"
                   "      - {name: small_model, model: draft}\n"
                   "    policy: {name: chain, nodes: 3}\n"
                   "    verifier: {name: multi_round}\n");
  const std::string out = folder.path() + "/out";
  const Outcome run =
      RunProgram("run " + folder.path() + "/e.yaml --out " + out);
  ASSERT_EQ(run.code, 0) << run.output;
  const Outcome exported = RunProgram(
      "export " + out + " --format jsonl --out " + folder.path() + "/e.jsonl");
  ASSERT_EQ(exported.code, 0) << exported.output;
  const std::string lines = folder.Read("e.jsonl");
  EXPECT_THAT(lines, HasSubstr("\"source_format\":\"GGUF F16, Q8_0"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4);
}

}  // namespace
}  // namespace banyan
