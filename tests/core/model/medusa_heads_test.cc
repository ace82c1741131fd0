// Medusa heads on a backend against plain loops in double.
#include "core/model/medusa_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/transformer.h"
#include "core/ops/weight.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/model/walk.h"
#include "tests/support/dice.h"
#include "tests/support/golden_model.h"

namespace banyan {
namespace {

using testing::HasSubstr;

constexpr int kHeads = 2;
constexpr int kBlocks = 2;

std::vector<float> Random(std::size_t count, Dice& dice) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = dice.Signed();
  return numbers;
}

// Heads for a target, and what they must say after one hidden state.
struct Made {
  MadeTensors tensors;
  std::vector<float> hidden;
  std::vector<std::vector<double>> expected;
};

Made Make(const Transformer& target) {
  const auto h = static_cast<std::size_t>(target.hidden_size());
  const auto v = static_cast<std::size_t>(target.vocab_size());
  Dice dice(3);
  Made made = {.tensors = {}, .hidden = Random(h, dice), .expected = {}};
  for (int head = 0; head < kHeads; ++head) {
    std::vector<double> x(made.hidden.begin(), made.hidden.end());
    for (int block = 0; block < kBlocks; ++block) {
      const auto weight = Random(h * h, dice);
      const auto bias = Random(h, dice);
      const std::string name = absl::StrCat(head, ".", block, ".linear.");
      made.tensors[name + "weight"] = {
          "F32", {target.hidden_size(), target.hidden_size()}, Stored(weight)};
      made.tensors[name + "bias"] = {
          "F32", {target.hidden_size()}, Stored(bias)};
      std::vector<double> y(bias.begin(), bias.end());
      for (std::size_t i = 0; i < h; ++i)
        for (std::size_t k = 0; k < h; ++k) y[i] += weight[i * h + k] * x[k];
      for (std::size_t i = 0; i < h; ++i) x[i] += y[i] / (1 + std::exp(-y[i]));
    }
    const auto output = Random(v * h, dice);
    made.tensors[absl::StrCat(head, ".", kBlocks, ".weight")] = {
        "F32", {target.vocab_size(), target.hidden_size()}, Stored(output)};
    std::vector<double> logits(v);
    for (std::size_t i = 0; i < v; ++i)
      for (std::size_t k = 0; k < h; ++k) logits[i] += output[i * h + k] * x[k];
    made.expected.push_back(logits);
  }
  return made;
}

TEST(MedusaHeads, SayWhatPlainLoopsSay) {
  const auto target = LoadGolden("llama", Backends().front());
  const Made made = Make(*target);
  const TestFolder folder;
  folder.Write("medusa_lm_head.safetensors", SafetensorsFile(made.tensors));
  const auto heads =
      MedusaHeads::Load(folder.path(), *target, WeightFormat::kF32);
  ASSERT_TRUE(heads.ok()) << heads.status();
  ASSERT_EQ((*heads)->count(), kHeads);
  std::vector<std::vector<double>> logits;
  ASSERT_TRUE((*heads)->Score(made.hidden, logits).ok());
  ASSERT_EQ(logits.size(), made.expected.size());
  for (std::size_t head = 0; head < logits.size(); ++head) {
    ASSERT_EQ(logits[head].size(), made.expected[head].size());
    for (std::size_t i = 0; i < logits[head].size(); ++i)
      EXPECT_NEAR(logits[head][i], made.expected[head][i], 1e-3)
          << head << " " << i;
  }
}

TEST(MedusaHeads, AreRefusedWithoutATensorOrWithOneOfAnotherSize) {
  const auto target = LoadGolden("llama", Backends().front());
  const auto refusal = [&](const MadeTensors& tensors) {
    const TestFolder folder;
    folder.Write("model.safetensors", SafetensorsFile(tensors));
    return std::string(
        MedusaHeads::Load(folder.path(), *target, WeightFormat::kF32)
            .status()
            .message());
  };
  const Made made = Make(*target);
  EXPECT_EQ(refusal(made.tensors), "");
  for (const auto& [name, tensor] : made.tensors) {
    MadeTensors fewer = made.tensors;
    fewer.erase(name);
    EXPECT_THAT(refusal(fewer), HasSubstr("model.safetensors: tensor")) << name;
  }
  MadeTensors other = made.tensors;
  other["1.0.linear.bias"] = {"F32", {2}, Stored(std::vector<float>(2))};
  EXPECT_THAT(refusal(other), HasSubstr("'1.0.linear.bias': expected shape"));
}

}  // namespace
}  // namespace banyan
