#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/model_text.h"
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

// What one key of the file is refused with; "" if it is taken and changes
// nothing.
std::string RefusalWith(const MadeGguf& file) {
  const std::string text = ConfigText(file);
  return text == ConfigText(Llama()) ? "" : text;
}

TEST(GgufConfig, RefusesNumbersThatChangeTheModelAndAreNotRead) {
  constexpr char kNeutral[] =
      ", with which the model is the same as without the key, found 0.5";
  for (const auto& [key, neutral] :
       std::vector<std::pair<std::string, std::vector<float>>>{
           {"logit_scale", {0, 1}},
           {"residual_scale", {0, 1}},
           {"embedding_scale", {0, 1}},
           {"attn_logit_softcapping", {0}},
           {"final_logit_softcapping", {0}},
           {"attention.max_alibi_bias", {0}},
           {"attention.clamp_kqv", {0}},
           {"attention.output_scale", {0, 1}},
           {"attention.temperature_length", {0}},
           {"attention.temperature_scale", {0}},
           {"attention.shared_kv_layers", {0}},
           {"expert_used_count", {0}},
           {"nextn_predict_layers", {0}},
           {"rescale_every_n_layers", {0}},
           {"pooling_type", {0, -1}},
           {"rope.scaling.alpha", {0, 1}},
           {"rope.scaling.attn_factor", {1}},
           {"rope.scaling.yarn_attn_factor", {1}},
           {"rope.scaling.yarn_ext_factor", {0, -1}},
           {"rope.scaling.yarn_log_multiplier", {0}}}) {
    const std::string name = "llama." + key;
    for (const float number : neutral)
      EXPECT_EQ(RefusalWith(Llama().Real(name, number)), "") << name;
    EXPECT_EQ(RefusalWith(Llama().Real(name, 0.5F)),
              absl::StrCat("f.gguf: ", name, ": expected ",
                           absl::StrJoin(neutral, " or "), kNeutral));
    EXPECT_THAT(RefusalWith(Llama().Reals(name, {0, 1})),
                HasSubstr(name + ": expected a number, found a list of 2"));
  }
}

TEST(GgufConfig, RefusesFlagsThatChangeTheModelAndAreNotRead) {
  for (const auto& [key, neutral] : std::vector<std::pair<std::string, bool>>{
           {"llama.attention.causal", true},
           {"llama.use_parallel_residual", false},
           {"llama.swin_norm", false}}) {
    EXPECT_EQ(RefusalWith(Llama().Flag(key, neutral)), "");
    EXPECT_THAT(RefusalWith(Llama().Flag(key, !neutral)),
                HasSubstr(absl::StrCat(key, ": expected ",
                                       neutral ? "true" : "false", ", with")));
  }
}

TEST(GgufConfig, RefusesAttentionThatItsSizesDoNotGive) {
  constexpr char kScale[] = "llama.attention.scale";
  for (const float scale : {0.0F, 0.5F})  // heads of 4 numbers
    EXPECT_EQ(RefusalWith(Llama().Real(kScale, scale)), "");
  EXPECT_EQ(RefusalWith(Llama().Real(kScale, 0.25F)),
            "f.gguf: llama.attention.scale: expected 1 / sqrt(the size of a "
            "head) or 0, found 0.25");
  constexpr char kWindow[] = "llama.attention.sliding_window";
  for (const std::uint32_t window : {0U, 128U, 4096U})
    EXPECT_EQ(RefusalWith(Llama().Count(kWindow, window)), "");
  EXPECT_EQ(RefusalWith(Llama().Count(kWindow, 127)),
            "f.gguf: llama.attention.sliding_window: expected 0 or at least "
            "the context's 128 tokens, found 127");
}

TEST(GgufConfig, RefusesWhatContradictsTheTensors) {
  EXPECT_EQ(RefusalWith(Llama().Count("llama.vocab_size", 5)), "");
  EXPECT_EQ(RefusalWith(Llama().Count("llama.vocab_size", 6)),
            "f.gguf: llama.vocab_size: expected the rows of "
            "'token_embd.weight', 5, found 6");
  for (const char* layout : {"reference", "Meta AI original pth"})
    EXPECT_EQ(RefusalWith(Llama().Text("llama.tensor_data_layout", layout)),
              "");
  EXPECT_THAT(RefusalWith(Llama().Text("llama.tensor_data_layout", "odd")),
              HasSubstr("llama.tensor_data_layout: expected reference or Meta "
                        "AI original pth, found 'odd'"));
  MadeGguf gpt2;
  gpt2.Text("general.architecture", "gpt2")
      .Count("gpt2.embedding_length", 8)
      .Count("gpt2.attention.head_count", 2)
      .Count("gpt2.attention.head_count_kv", 1)
      .Count("gpt2.attention.key_length", 2);
  EXPECT_THAT(
      ConfigText(gpt2),
      AllOf(HasSubstr("gpt2.attention.head_count_kv: expected as many as "
                      "heads, 2, found 1"),
            HasSubstr("gpt2.attention.key_length: expected the size of a "
                      "head, 4, found 2")));
}

TEST(GgufConfig, IsOfAModelAlone) {
  EXPECT_EQ(RefusalWith(Llama().Text("general.type", "model")), "");
  EXPECT_EQ(RefusalWith(Llama().Text("general.type", "adapter")),
            "f.gguf: general.type: expected 'model', found 'adapter'");
}

TEST(GgufConfig, PassesOverKeysThatSayNothingOfTheModel) {
  EXPECT_EQ(RefusalWith(Llama()
                            .Count("general.file_type", 3)
                            .Count("general.quantization_version", 2)
                            .Text("quantize.imatrix.file", "x")
                            .Count("split.count", 0)
                            .Flag("llama.rope.scaling.finetuned", true)
                            .Text("llama.unheard_of", "x")
                            .Count("qwen2.attention.sliding_window", 1)),
            "");
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
}

// A query under its Hugging Face name would be taken without its pairs.
TEST(GgufConfig, RefusesTensorsOfNamesThatTheArchitectureHasNot) {
  for (const std::string odd :
       {"blk.", "blk.3", "blk.3.", "blk..x", "blk.0.new.weight", "odd",
        "blk.0.attn_q", "model.layers.0.self_attn.q_proj.weight",
        "model.embed_tokens.weight", "blk.0.attn_q.weight.lora_a",
        "position_embd.weight"})
    EXPECT_EQ(RefusalWith(Llama().Tensor(odd, {1}, 0, Raw(1.0F))),
              absl::StrCat("f.gguf: tensor '", odd,
                           "': the architecture llama has none of this name"));
}

}  // namespace
}  // namespace banyan
