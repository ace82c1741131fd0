// The checkpoints of tests/goldens/checkpoints.py are read as what they are.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::ElementsAre;

constexpr int kTokens = 20;

std::unique_ptr<Checkpoint> Open(const std::string& name) {
  auto opened = Checkpoint::Open(GoldenFolder(name));
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

std::vector<int> Windows(const Architecture& architecture) {
  std::vector<int> windows;
  for (const LayerSources& layer : architecture.layers)
    windows.push_back(layer.window);
  return windows;
}

TEST(Goldens, HoldEveryTypeOfWeight) {
  std::set<DType> dtypes;
  for (const std::string& name : GoldenNames()) {
    const auto checkpoint = Open(name);
    ASSERT_NE(checkpoint, nullptr) << name;
    ForEachSource(checkpoint->architecture(), [&](const WeightSource& source) {
      dtypes.insert(checkpoint->Tensor(source)->dtype);
    });
  }
  EXPECT_THAT(dtypes, ElementsAre(DType::kF32, DType::kF16, DType::kBf16));
}

TEST(Goldens, LlamasAreReadAsWritten) {
  const Architecture plain = Open("llama")->architecture();
  EXPECT_EQ(plain.family, "llama");
  EXPECT_EQ(plain.vocab_size, 83);
  EXPECT_EQ(plain.hidden_size, 36);
  EXPECT_EQ(plain.feed_forward_size, 52);
  EXPECT_EQ(plain.heads, 6);
  EXPECT_EQ(plain.kv_heads, 2);
  EXPECT_EQ(plain.head_dim, 6);
  EXPECT_EQ(plain.norm_epsilon, 1e-5);
  EXPECT_EQ(plain.rope->theta, 10000);
  EXPECT_FALSE(plain.tied_head);
  EXPECT_THAT(plain.end_of_text, ElementsAre(2, 7));
  EXPECT_EQ(plain.begin_of_text, 1);

  const Architecture linear = Open("llama_linear")->architecture();
  EXPECT_EQ(linear.rope->scaling, Rope::Scaling::kLinear);
  EXPECT_EQ(linear.rope->theta, 500);
  EXPECT_EQ(linear.rope->factor, 3);

  const Architecture llama3 = Open("llama_llama3")->architecture();
  EXPECT_EQ(llama3.rope->scaling, Rope::Scaling::kLlama3);
  EXPECT_EQ(llama3.rope->theta, 100);
  EXPECT_EQ(llama3.rope->factor, 6);
  EXPECT_EQ(llama3.rope->original_context, 32);
  EXPECT_EQ(llama3.head_dim, 8);
  EXPECT_EQ(llama3.kv_heads, 1);

  const Architecture biased = Open("llama_biased")->architecture();
  EXPECT_TRUE(biased.tied_head);
  EXPECT_TRUE(biased.layers[1].output_bias.present());
  EXPECT_TRUE(biased.layers[1].down_bias.present());
}

TEST(Goldens, TheOtherFamiliesAreReadAsWritten) {
  const Architecture mistral = Open("mistral")->architecture();
  EXPECT_EQ(mistral.family, "mistral");
  EXPECT_THAT(Windows(mistral), ElementsAre(5, 5));
  EXPECT_EQ(mistral.rope->theta, 10000);

  const auto qwen2 = Open("qwen2");
  EXPECT_THAT(qwen2->warnings(), testing::IsEmpty());
  EXPECT_THAT(Windows(qwen2->architecture()), ElementsAre(0, 7, 7));
  EXPECT_TRUE(qwen2->architecture().layers[0].key_bias.present());

  const Architecture qwen3 = Open("qwen3")->architecture();
  EXPECT_EQ(qwen3.rope->theta, 1e6);
  EXPECT_EQ(qwen3.head_dim * qwen3.heads, 40);
  EXPECT_EQ(qwen3.hidden_size, 22);
  EXPECT_TRUE(qwen3.layers[0].key_norm.present());

  const Architecture gpt2 = Open("gpt2")->architecture();
  EXPECT_EQ(gpt2.embedding.tensor, "transformer.wte.weight");
  EXPECT_EQ(gpt2.feed_forward_size, 80);
  EXPECT_DOUBLE_EQ(gpt2.layers[1].attention_scale, 0.25);
}

// What a tied or an untied head, the final norm's output and the logits say of
// each other: that the weights read are the weights that were run.
TEST(Goldens, HeadTimesLastHiddenStateIsTheLogits) {
  for (const std::string& name : GoldenNames()) {
    SCOPED_TRACE(name);
    const auto checkpoint = Open(name);
    const Architecture& of = checkpoint->architecture();
    const auto file =
        TensorFile::Open(GoldenFolder(name) + "/logits.safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto numbers = [&file](const char* tensor) {
      const StoredTensor& stored = *(*file)->Find(tensor);
      std::vector<double> all(stored.data.size() / sizeof(double));
      std::memcpy(all.data(), stored.data.data(), stored.data.size());
      return all;
    };
    EXPECT_THAT((*file)->Find("ids")->shape, ElementsAre(kTokens));
    ASSERT_THAT((*file)->Find("logits64")->shape,
                ElementsAre(kTokens, of.vocab_size));
    ASSERT_THAT((*file)->Find("hidden64")->shape,
                ElementsAre(of.layers.size() + 2, 3, of.hidden_size));
    const std::vector<double> logits = numbers("logits64");
    const std::vector<double> hidden = numbers("hidden64");
    const auto width = static_cast<std::size_t>(of.hidden_size);
    std::vector<float> row(width);
    for (int token = 0; token < of.vocab_size; ++token) {
      ASSERT_TRUE(
          checkpoint->ReadRows(of.head, {token, 1}, absl::MakeSpan(row)).ok());
      double logit = 0;
      for (std::size_t i = 0; i < width; ++i)
        logit += row[i] * hidden[hidden.size() - width + i];
      // Forty products of about one, summed in another order.
      EXPECT_NEAR(logit,
                  logits[logits.size() -
                         static_cast<std::size_t>(of.vocab_size - token)],
                  1e-13);
    }
  }
}

}  // namespace
}  // namespace banyan
