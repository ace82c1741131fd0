// Medusa heads on a backend against plain loops in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/ops/weight.h"
#include "drafters/heads/medusa/heads.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/drafters/heads/made_heads.h"
#include "tests/support/dice.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

using testing::HasSubstr;

class HeadsOnDevice : public testing::TestWithParam<std::string> {};

TEST_P(HeadsOnDevice, SayWhatPlainLoopsSay) {
  const auto target = LoadGolden("llama", BackendOf(GetParam()));
  const MadeHeads made = MakeHeads(*target);
  const TestFolder folder;
  folder.Write("medusa_lm_head.safetensors", SafetensorsFile(made.tensors));
  folder.Write("config.json", "{}");
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

TEST_P(HeadsOnDevice, GiveAStateTheSameBitsInAnyCompany) {
  const auto target = LoadGolden("llama", BackendOf(GetParam()));
  const TestFolder folder;
  const MadeHeads made = MakeHeads(*target);
  WriteHeads(made.tensors, folder);
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

// Of heads with an output matrix of their own, and of others.
TEST_P(HeadsOnDevice, SayOfSomeTokensWhatTheWholeOnesSay) {
  const auto target = LoadGolden("llama", BackendOf(GetParam()));
  for (const bool own : {true, false}) {
    const TestFolder folder;
    MadeHeads made = MakeHeads(*target);
    for (auto it = made.tensors.begin(); it != made.tensors.end();) {
      const bool output = !absl::StrContains(it->first, "linear");
      it = output && !own ? made.tensors.erase(it) : std::next(it);
    }
    WriteHeads(made.tensors, folder);
    auto loaded = LoadMedusaHeads(folder.path(), *target);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const std::shared_ptr<const MedusaHeads> heads = *std::move(loaded);
    const std::vector<TokenId> tokens = {0, 3, 4, 11};
    const auto some = TrimHeads(heads, tokens, target->vocab_size());
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ((*some)->count(), heads->count());
    EXPECT_THAT((*some)->outputs().tokens, testing::ElementsAreArray(tokens));
    EXPECT_EQ((*some)->outputs().vocab_size, target->vocab_size());
    std::vector<std::vector<double>> all;
    std::vector<std::vector<double>> logits;
    ASSERT_TRUE(heads->Score(made.hidden, all).ok());
    ASSERT_TRUE((*some)->Score(made.hidden, logits).ok());
    ASSERT_EQ(logits.size(), all.size());
    for (std::size_t head = 0; head < logits.size(); ++head) {
      ASSERT_EQ(logits[head].size(), tokens.size());
      for (std::size_t i = 0; i < tokens.size(); ++i)
        EXPECT_EQ(logits[head][i],
                  all[head][static_cast<std::size_t>(tokens[i])]);
    }
    EXPECT_THAT(std::string(TrimHeads(heads, {target->vocab_size() + 1},
                                      target->vocab_size())
                                .status()
                                .message()),
                HasSubstr("expected a token that the target emits"));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, HeadsOnDevice,
                         testing::ValuesIn(DeviceNames()),
                         [](const auto& row) { return row.param; });

std::string Refusal(const Transformer& target, const TestFolder& folder) {
  return std::string(LoadMedusaHeads(folder.path(), target).status().message());
}

TEST(MedusaHeads, AreRefusedWithoutATensorOrWithOneOfAnotherSize) {
  const auto target = LoadGolden("llama", Backends().front());
  const auto refusal = [&](const MadeTensors& tensors) {
    const TestFolder folder;
    WriteHeads(tensors, folder);
    return Refusal(*target, folder);
  };
  const MadeHeads made = MakeHeads(*target);
  EXPECT_EQ(refusal(made.tensors), "");
  for (const auto& [name, tensor] : made.tensors) {
    MadeTensors fewer = made.tensors;
    fewer.erase(name);
    EXPECT_THAT(refusal(fewer), HasSubstr("model.safetensors: tensor '" + name +
                                          "': is missing"));
  }
  // The number of the output matrices still tells how many blocks there were.
  MadeTensors fewer = made.tensors;
  for (const char* head : {"0", "1"})
    for (const char* part : {"weight", "bias"})
      fewer.erase(absl::StrCat(head, ".1.linear.", part));
  EXPECT_THAT(refusal(fewer), HasSubstr("'0.1.linear.weight': is missing"));
  MadeTensors other = made.tensors;
  other["1.0.linear.bias"] = {"F32", {2}, Stored(std::vector<float>(2))};
  EXPECT_THAT(refusal(other), HasSubstr("'1.0.linear.bias': expected shape"));
}

TEST(MedusaHeads, AreRefusedWhereConfigSaysOtherwise) {
  const auto target = LoadGolden("llama", Backends().front());
  const TestFolder folder;
  WriteHeads(MakeHeads(*target).tensors, folder);
  const auto refusal = [&](const std::string& config) {
    folder.Write("config.json", config);
    return Refusal(*target, folder);
  };
  EXPECT_EQ(refusal("{}"), "");
  EXPECT_EQ(refusal(R"({"medusa_num_heads": 2, "medusa_num_layers": 2,
                        "hidden_size": 36, "vocab_size": 83})"),
            "");
  const std::string as =
      ", as " + folder.path() + "/model.safetensors has, found ";
  EXPECT_EQ(
      refusal(R"({"medusa_num_heads": 5})"),
      folder.path() + "/config.json: medusa_num_heads: expected 2" + as + "5");
  EXPECT_THAT(refusal(R"({"medusa_num_layers": 1})"),
              HasSubstr("medusa_num_layers: expected 2" + as + "1"));
  EXPECT_THAT(refusal(R"({"hidden_size": 35})"),
              HasSubstr("hidden_size: expected 36" + as + "35"));
  EXPECT_THAT(refusal(R"({"vocab_size": 84})"),
              HasSubstr("vocab_size: expected 83" + as + "84"));
  EXPECT_THAT(refusal(R"({"medusa_num_heads": "2"})"),
              HasSubstr("medusa_num_heads: expected a positive integer"));
  std::filesystem::remove(folder.path() + "/config.json");
  EXPECT_THAT(Refusal(*target, folder),
              HasSubstr("/config.json: No such file or directory"));
}

TEST(MedusaHeads, SayHowToConvertAPickle) {
  const auto target = LoadGolden("llama", Backends().front());
  const TestFolder folder;
  const std::string expected = folder.path() +
                               ": expected Medusa heads, model.safetensors or "
                               "medusa_lm_head.safetensors; found ";
  EXPECT_EQ(Refusal(*target, folder), expected + "neither");
  folder.Write("medusa_lm_head.pt", "PK");
  EXPECT_EQ(Refusal(*target, folder),
            expected + "a pickle: scripts/train convert " + folder.path() +
                "/medusa_lm_head.pt --out DIR makes them of it");
}

// Every tensor in every format, each with a NaN and both infinities somewhere.
TEST(MedusaHeads, AreRefusedWithWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Tally tally;
  Dice dice(5);
  for (const WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
    const auto target = LoadGolden("llama", Backends().front(), format);
    const MadeHeads made = MakeHeads(*target);
    for (const auto& [name, tensor] : made.tensors)
      for (const float odd : {std::nanf(""), kInfinity, -kInfinity}) {
        MadeTensors tensors = made.tensors;
        const std::int64_t at = dice.Below(static_cast<int>(CountOf(tensor)));
        SetNumber(tensors[name], at, odd);
        const std::int64_t columns =
            tensor.shape.size() == 1 ? 1 : tensor.shape[1];
        const TestFolder folder;
        WriteHeads(tensors, folder);
        ASSERT_EQ(
            Refusal(*target, folder),
            absl::StrCat(folder.path(), "/model.safetensors: tensor '", name,
                         "': row ", at / columns, ", column ", at % columns,
                         ": expected a finite number, found ", odd));
        tally.Count(CaseResult::kProven);
      }
  }
  ExpectCounts(tally, 90);
}

// Every tensor filled with numbers that are finite and as large as there are.
TEST(MedusaHeads, GiveAnErrorForSumsThatOverflow) {
  Tally tally;
  Dice dice(6);
  for (const std::string& device : DeviceNames())
    for (const WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
      const auto target = LoadGolden("llama", BackendOf(device), format);
      const MadeHeads made = MakeHeads(*target);
      for (const auto& [name, tensor] : made.tensors) {
        std::vector<float> huge(static_cast<std::size_t>(CountOf(tensor)));
        for (float& number : huge)
          number = dice.OneIn(2) ? 0x1.fep127F : -0x1.fep127F;
        MadeTensors tensors = made.tensors;
        tensors[name].data = Stored(huge);
        const TestFolder folder;
        WriteHeads(tensors, folder);
        const auto heads = LoadMedusaHeads(folder.path(), *target);
        ASSERT_TRUE(heads.ok()) << heads.status();
        std::vector<std::vector<double>> logits;
        const absl::Status status = (*heads)->Score(made.hidden, logits);
        ASSERT_THAT(std::string(status.message()),
                    HasSubstr("the logit of token "))
            << name << ", " << Name(format) << ", " << device;
        tally.Count(CaseResult::kProven);
      }
    }
  ExpectCounts(tally, 90);
}

TEST(MedusaHeads, NeedATransformerAsTarget) {
  EXPECT_EQ(
      LoadMedusaHeads("models/pycode-medusa", *Toy({})).status().message(),
      "heads need a transformer as target");
}

}  // namespace
}  // namespace banyan
