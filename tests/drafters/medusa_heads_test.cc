// Medusa heads on a backend against plain loops in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "drafters/medusa/heads.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/drafters/made_heads.h"
#include "tests/support/golden_model.h"

namespace banyan {
namespace {

using testing::HasSubstr;

TEST(MedusaHeads, SayWhatPlainLoopsSay) {
  const auto target = LoadGolden("llama", Backends().front());
  const MadeHeads made = MakeHeads(*target);
  const TestFolder folder;
  folder.Write("medusa_lm_head.safetensors", SafetensorsFile(made.tensors));
  const auto heads = LoadMedusaHeads(folder.path(), *target);
  ASSERT_TRUE(heads.ok()) << heads.status();
  ASSERT_EQ((*heads)->count(), kMadeHeads);
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

TEST(MedusaHeads, GiveAStateTheSameBitsInAnyCompany) {
  const auto target = LoadGolden("llama", Backends().front());
  const TestFolder folder;
  const MadeHeads made = MakeHeads(*target);
  folder.Write("model.safetensors", SafetensorsFile(made.tensors));
  const auto heads = LoadMedusaHeads(folder.path(), *target);
  ASSERT_TRUE(heads.ok()) << heads.status();
  std::vector<std::vector<float>> states(3, made.hidden);
  for (float& number : states[1]) number = -number;
  for (float& number : states[2]) number *= 0.5F;
  std::vector<std::vector<std::vector<double>>> all;
  ASSERT_TRUE((*heads)->ScoreAll({states[0], states[1], states[2]}, all).ok());
  ASSERT_EQ(all.size(), states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::vector<std::vector<double>> alone;
    ASSERT_TRUE((*heads)->Score(states[i], alone).ok());
    EXPECT_EQ(all[i], alone) << "state " << i;
  }
  EXPECT_NE(all[0], all[1]);
}

TEST(MedusaHeads, AreRefusedWithoutATensorOrWithOneOfAnotherSize) {
  const auto target = LoadGolden("llama", Backends().front());
  const auto refusal = [&](const MadeTensors& tensors) {
    const TestFolder folder;
    folder.Write("model.safetensors", SafetensorsFile(tensors));
    return std::string(
        LoadMedusaHeads(folder.path(), *target).status().message());
  };
  const MadeHeads made = MakeHeads(*target);
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

TEST(MedusaHeads, NeedATransformerAsTarget) {
  EXPECT_EQ(
      LoadMedusaHeads("models/pycode-medusa", *Toy({})).status().message(),
      "heads need a transformer as target");
}

}  // namespace
}  // namespace banyan
