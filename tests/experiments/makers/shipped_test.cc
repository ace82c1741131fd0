// The models that ship: the set, the target grown, and the target with its
// drafters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/tokenizer/tokenizer.h"
#include "core/transformer/transformer.h"
#include "drafters/heads/medusa/heads.h"
#include "experiments/makers/grow/grow_model.h"
#include "experiments/makers/grow/output_folder.h"
#include "nlohmann/json.hpp"
#include "tests/core/transformer/walk.h"
#include "tests/experiments/makers/growing.h"
#include "tests/experiments/run_program.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"
#include "tests/support/sanitized.h"

namespace banyan {
namespace {

using testing::HasSubstr;

const std::string kTarget = "models/pycode-target";

TEST(Shipped, IsSmallAndHasCards) {
  std::uintmax_t bytes = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator("models"))
    if (file.is_regular_file()) bytes += file.file_size();
  EXPECT_GT(bytes, 40'000'000u);
  EXPECT_LT(bytes, 92'000'000u);
  std::set<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator("models"))
    names.insert(folder.path().filename().string());
  EXPECT_THAT(names, testing::ElementsAre(
                         "pycode-counts", "pycode-draft-1", "pycode-draft-2",
                         "pycode-eagle1", "pycode-eagle3", "pycode-lookahead",
                         "pycode-medusa", "pycode-other", "pycode-target",
                         "smollm2-draft-1", "smollm2-draft-2", "smollm2-eagle3",
                         "smollm2-medusa", "smollm2-text"));
  for (const std::string& name : names) {
    const std::string folder = absl::StrCat("models/", name, "/");
    std::ifstream card(folder + "README.md");
    std::string text{std::istreambuf_iterator<char>(card), {}};
    EXPECT_THAT(text, HasSubstr("held out")) << name;
    // Counted, and generated, not trained.
    if (name == "pycode-counts" || name == "smollm2-text") continue;
    EXPECT_THAT(text, HasSubstr("## Measured")) << name;
    EXPECT_TRUE(std::filesystem::exists(folder + "config.json")) << name;
    EXPECT_TRUE(std::filesystem::exists(folder + "training.json")) << name;
  }
}

std::vector<std::string> Prompts() {
  std::vector<std::string> prompts;
  std::ifstream file("experiments/workloads/pycode.jsonl");
  for (std::string line; std::getline(file, line);)
    prompts.push_back(nlohmann::json::parse(line)["prompt"]);
  return prompts;
}

std::vector<std::vector<double>> Logits(const Model& model,
                                        const std::vector<TokenId>& text) {
  const auto session = model.NewSession();
  const TokenBatch batch = ChainAfter(*session, text);
  const auto scores = ScoreOne(model, *session, batch);
  EXPECT_TRUE(scores.ok()) << scores.status();
  std::vector<std::vector<double>> rows(text.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    rows[row] = MustRead(**scores, static_cast<int>(row));
  return rows;
}

// 768 is 4 times 192, so the grown target is the same to the last bit, and so
// is whatever it writes. Every third prompt: all kinds. Sanitizers see what
// they see in a few.
TEST(Shipped, TargetGrownToThe110mShapeKeepsEveryBitOnThePrompts) {
  const Grown grown(kTarget, {.like = "110m"});
  const auto backend = Backends().front();
  const auto before = MustLoad(kTarget, backend);
  const auto after = MustLoad(grown.path(), backend);
  ASSERT_EQ(after->hidden_size(), 768);
  ASSERT_EQ(after->layers(), 12);
  const auto tokenizer = Tokenizer::Load(kTarget);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const std::vector<std::string> prompts = Prompts();
  ASSERT_GE(prompts.size(), 120u);
  for (std::size_t i = 0; i < prompts.size(); i += kSanitized ? 15 : 3) {
    const auto ids = (*tokenizer)->Encode(prompts[i]);
    ASSERT_TRUE(ids.ok()) << ids.status();
    ASSERT_EQ(Logits(*after, *ids), Logits(*before, *ids)) << prompts[i];
  }
}

// The hidden state at the last token, and the heads' logits there.
std::vector<std::vector<double>> HeadLogits(const std::string& heads,
                                            const Transformer& target,
                                            const std::vector<TokenId>& text) {
  const auto loaded = LoadMedusaHeads(heads, target);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const auto session = target.NewSession();
  const TokenBatch batch = ChainAfter(*session, text);
  const ScoreRequest request = {session.get(), &batch, {kAfterFinalNorm}};
  const auto scores = target.Score({&request, 1});
  EXPECT_TRUE(scores.ok()) << scores.status();
  std::vector<std::vector<double>> logits;
  const auto status = (*loaded)->Score(
      MustReadHidden(*scores->front(), 0, static_cast<int>(text.size()) - 1,
                     target.hidden_size()),
      logits);
  EXPECT_TRUE(status.ok()) << status;
  return logits;
}

TEST(Shipped, HeadsGrownWithTheTargetKeepEveryBit) {
  const std::string heads = "models/pycode-medusa";
  const Grown grown(kTarget, {.like = "110m"});
  const auto folder = OutputFolder::Make(grown.path() + "-heads");
  ASSERT_TRUE(folder.ok()) << folder.status();
  const auto report = GrowHeads(heads, {{192, 768, 2048}}, {}, **folder);
  ASSERT_TRUE(report.ok()) << report.status();
  (*folder)->Keep();
  const auto backend = Backends().front();
  const auto before = MustLoad(kTarget, backend);
  const auto after = MustLoad(grown.path(), backend);
  const std::vector<TokenId> text = {300, 12, 45, 7, 1023, 511};
  const auto expected = HeadLogits(heads, *before, text);
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_EQ(report->summary,
            "4 Medusa heads of 1 block, each with an output matrix");
  EXPECT_EQ(HeadLogits(grown.path() + "-heads", *after, text), expected);
}

// Greedy drafts of any shape leave the greedy text as it is.
TEST(Shipped, DraftersLeaveGreedyTextAsItIs) {
  const std::string models = std::filesystem::absolute("models").string();
  const std::string both = absl::StrCat(
      "models:\n  one: {directory: \"", models, "/pycode-draft-1\"}\n",
      "  two: {directory: \"", models, "/pycode-draft-2\"}\n",
      "drafters:\n  - {name: small_model, model: one}\n",
      "  - {name: small_model, model: two}\n", "verifier: {name: greedy}\n");
  const std::string command =
      "generate --model models/pycode-target --temperature 0 "
      "--max-new-tokens 40 --prompt 'def fibonacci(n):' ";
  const Outcome plain = RunProgram(command + "2>/dev/null");
  ASSERT_EQ(plain.code, 0) << plain.output;
  EXPECT_THAT(plain.out, HasSubstr("\n    "));
  for (const char* policy :
       {"{name: chain, nodes: 4}", "{name: expansion, branching: [2, 2, 1]}"}) {
    const std::string method =
        WriteTestFile(absl::StrCat(both, "policy: ", policy, "\n"));
    const Outcome drafted =
        RunProgram(command + "--method " + method + " 2>/dev/null");
    ASSERT_EQ(drafted.code, 0) << drafted.output;
    EXPECT_EQ(drafted.out, plain.out) << policy;
  }
}

}  // namespace
}  // namespace banyan
