#include "core/gguf/gguf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/statusor.h"
#include "core/gguf/gguf_file.h"
#include "core/json/json_value.h"
#include "nlohmann/json.hpp"
#include "tests/core/gguf/made_gguf.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MadeGguf Llama() {
  MadeGguf file;
  file.Text("general.architecture", "llama")
      .Count("llama.context_length", 128)
      .Count("llama.embedding_length", 8)
      .Count("llama.block_count", 2)
      .Count("llama.feed_forward_length", 12)
      .Count("llama.attention.head_count", 2)
      .Count("llama.attention.head_count_kv", 1)
      .Real("llama.attention.layer_norm_rms_epsilon", 0.25F)
      .Real("llama.rope.freq_base", 500)
      .Count("llama.rope.dimension_count", 4)
      .Tensor("token_embd.weight", {8, 5}, 0, std::string(160, '\0'));
  return file;
}

// The config, or its error.
std::string ConfigText(const MadeGguf& made) {
  const std::string bytes = made.Bytes();
  const auto read = ParseGguf(AsBytes(bytes), "f.gguf");
  EXPECT_TRUE(read.ok()) << read.status();
  const absl::StatusOr<JsonValue> config = GgufConfig(*read, "f.gguf");
  return config.ok() ? config->Text() : std::string(config.status().message());
}

TEST(GgufConfig, IsThatOfTheFamily) {
  const auto config = nlohmann::json::parse(ConfigText(Llama()));
  EXPECT_EQ(config, nlohmann::json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 5, "tie_word_embeddings": true, "hidden_size": 8,
    "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "max_position_embeddings": 128,
    "rms_norm_eps": 0.25, "hidden_act": "silu", "rope_theta": 500.0,
    "attention_bias": false, "mlp_bias": false,
    "converted_from": {"name": "", "format": "GGUF F32"}})"));
}

TEST(GgufConfig, HasTheEndsOfATextOnceEach) {
  MadeGguf file = Llama();
  file.Count("tokenizer.ggml.bos_token_id", 1)
      .Count("tokenizer.ggml.eos_token_id", 2)
      .Count("tokenizer.ggml.eot_token_id", 4);
  EXPECT_THAT(ConfigText(file), AllOf(HasSubstr(R"("bos_token_id":1)"),
                                      HasSubstr(R"("eos_token_id":[2,4])")));
  file = Llama();
  file.Count("tokenizer.ggml.eos_token_id", 2)
      .Count("tokenizer.ggml.eot_token_id", 2);
  EXPECT_THAT(ConfigText(file), HasSubstr(R"("eos_token_id":[2])"));
}

TEST(GgufConfig, NamesWhatIsMissing) {
  MadeGguf file;
  file.Text("general.architecture", "llama");
  EXPECT_THAT(
      ConfigText(file),
      AllOf(HasSubstr("f.gguf: tensors: expected a matrix 'token_embd.weight'"),
            HasSubstr("f.gguf: llama.block_count: expected a whole number, "
                      "found no such key"),
            HasSubstr("f.gguf: llama.attention.layer_norm_rms_epsilon: ")));
  EXPECT_THAT(ConfigText(MadeGguf()),
              HasSubstr("general.architecture: expected a text, found no such "
                        "key"));
}

TEST(GgufConfig, RefusesByNameWhatIsNotRead) {
  MadeGguf file;
  file.Text("general.architecture", "lama");
  EXPECT_THAT(ConfigText(file),
              HasSubstr("unknown architecture 'lama'; did you mean 'llama'?"));
  file = Llama();
  file.Count("llama.expert_count", 8);
  EXPECT_THAT(ConfigText(file),
              HasSubstr("llama.expert_count: mixtures of experts"));
  file = Llama();
  file.Text("llama.rope.scaling.type", "yarn");
  EXPECT_THAT(ConfigText(file),
              HasSubstr("llama.rope.scaling.type: expected none or linear, "
                        "found 'yarn'"));
  file = Llama();
  file.Count("llama.attention.value_length", 6);
  EXPECT_THAT(ConfigText(file),
              HasSubstr("llama.attention.value_length: expected the size of a "
                        "head, 4, found 6"));
  file = Llama();
  file.Tensor("rope_freqs.weight", {2}, 0, Raw(1.0F) + Raw(3.0F));
  EXPECT_THAT(ConfigText(file),
              HasSubstr("rope_freqs.weight: expected the factors of Llama "
                        "3.1"));
}

TEST(GgufConfig, HasTheScalingOfPositions) {
  constexpr char kFactor[] = "llama.rope.scaling.factor";
  constexpr char kOlder[] = "llama.rope.scale_linear";
  constexpr char kType[] = "llama.rope.scaling.type";
  constexpr char kLinear[] =
      R"("rope_scaling":{"rope_type":"linear","factor":4.0})";
  EXPECT_THAT(ConfigText(Llama().Text(kType, "linear").Real(kFactor, 4)),
              HasSubstr(kLinear));
  // Linear is what a factor is without a type.
  EXPECT_THAT(ConfigText(Llama().Real(kFactor, 4)), HasSubstr(kLinear));
  EXPECT_THAT(ConfigText(Llama().Real(kOlder, 4)), HasSubstr(kLinear));
  EXPECT_THAT(ConfigText(Llama().Real(kOlder, 8).Real(kFactor, 4)),
              HasSubstr(kLinear));
  const std::string none = ConfigText(Llama());
  EXPECT_EQ(ConfigText(Llama().Text(kType, "none").Real(kFactor, 4)), none);
  for (const float factor : {0.0F, 1.0F})
    EXPECT_EQ(ConfigText(Llama().Real(kFactor, factor)), none);
  EXPECT_THAT(ConfigText(Llama().Real(kOlder, 0.5F)),
              HasSubstr("f.gguf: llama.rope.scale_linear: expected 0 or a "
                        "number from 1 on, found 0.5"));
  EXPECT_THAT(ConfigText(Llama().Text(kType, "linear")),
              HasSubstr("llama.rope.scaling.factor: expected a number, found "
                        "no such key"));
}

TEST(GgufConfig, RefusesALinearFactorBesideThoseOfFrequencies) {
  MadeGguf file = Llama();
  file.Real("llama.rope.scaling.factor", 4)
      .Tensor("rope_freqs.weight", {2}, 0, Raw(1.0F) + Raw(1.0F));
  EXPECT_THAT(ConfigText(file),
              HasSubstr("llama.rope.scaling.factor: expected 0 or 1 beside "
                        "'rope_freqs.weight', found 4"));
}

TEST(GgufConfig, KnowsThePlacesOfTensors) {
  const std::string bytes = Llama().Bytes();
  const auto read = ParseGguf(AsBytes(bytes), "f.gguf");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto name = [&](const char* tensor) {
    return PlaceOf(*read, tensor).name;
  };
  EXPECT_EQ(name("token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(name("output.weight"), "lm_head.weight");
  EXPECT_EQ(name("blk.11.ffn_down.weight"),
            "model.layers.11.mlp.down_proj.weight");
  EXPECT_EQ(name("blk.0.attn_q.bias"), "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(PlaceOf(*read, "blk.0.attn_q.weight").paired_rows, 4);
  EXPECT_EQ(PlaceOf(*read, "blk.0.attn_k.bias").paired_rows, 4);
  EXPECT_EQ(PlaceOf(*read, "blk.0.attn_v.weight").paired_rows, 0);
  // What is not known stays, to be told of.
  for (const char* odd : {"blk.", "blk.3", "blk.3.", "blk..x",
                          "blk.0.new.weight", "odd", "blk.0.attn_q"})
    EXPECT_EQ(name(odd), odd);
}

}  // namespace
}  // namespace banyan
