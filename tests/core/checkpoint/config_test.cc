// config.json of the families that are shaped like llama.
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/families/families.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/configs.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json Config(const std::string& family) {
  return {{"model_type", family},     {"vocab_size", 100},
          {"hidden_size", 48},        {"intermediate_size", 52},
          {"num_hidden_layers", 3},   {"num_attention_heads", 8},
          {"num_key_value_heads", 4}, {"max_position_embeddings", 64}};
}

Architecture Read(const Json& config) {
  absl::StatusOr<Architecture> read = ReadConfig(config);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : Architecture();
}

std::vector<int> Windows(const Json& config) {
  std::vector<int> windows;
  for (const LayerSources& layer : Read(config).layers)
    windows.push_back(layer.window);
  return windows;
}

void ExpectMatrix(const WeightSource& source, const std::string& name,
                  std::int64_t rows, std::int64_t columns) {
  EXPECT_EQ(source.tensor, name);
  EXPECT_THAT(source.stored_shape, ElementsAre(rows, columns)) << name;
  EXPECT_EQ(source.rows, rows) << name;
  EXPECT_EQ(source.columns, columns) << name;
  EXPECT_EQ(source.first_row, 0) << name;
  EXPECT_FALSE(source.transposed) << name;
}

void ExpectVector(const WeightSource& source, const std::string& name,
                  std::int64_t rows) {
  EXPECT_EQ(source.tensor, name);
  EXPECT_THAT(source.stored_shape, ElementsAre(rows)) << name;
  EXPECT_EQ(source.rows, rows) << name;
  EXPECT_EQ(source.columns, 1) << name;
}

TEST(LlamaConfig, GivesSizesAndEveryWeight) {
  const Architecture read = Read(Config("llama"));
  EXPECT_EQ(read.family, "llama");
  EXPECT_EQ(read.vocab_size, 100);
  EXPECT_EQ(read.hidden_size, 48);
  EXPECT_EQ(read.feed_forward_size, 52);
  EXPECT_EQ(read.heads, 8);
  EXPECT_EQ(read.kv_heads, 4);
  EXPECT_EQ(read.head_dim, 6);
  EXPECT_EQ(read.context_limit, 64);
  EXPECT_EQ(read.norm, Architecture::Norm::kRms);
  EXPECT_EQ(read.norm_epsilon, 1e-6);
  EXPECT_EQ(read.activation, Architecture::Activation::kSilu);
  ExpectMatrix(read.embedding, "model.embed_tokens.weight", 100, 48);
  EXPECT_FALSE(read.positions.present());
  ExpectVector(read.final_norm, "model.norm.weight", 48);
  EXPECT_FALSE(read.final_norm_bias.present());
  ExpectMatrix(read.head, "lm_head.weight", 100, 48);
  EXPECT_FALSE(read.tied_head);
  ASSERT_EQ(read.layers.size(), 3u);
  const LayerSources& layer = read.layers[2];
  const std::string at = "model.layers.2.";
  ExpectVector(layer.attention_norm, at + "input_layernorm.weight", 48);
  ExpectMatrix(layer.query, at + "self_attn.q_proj.weight", 48, 48);
  ExpectMatrix(layer.key, at + "self_attn.k_proj.weight", 24, 48);
  ExpectMatrix(layer.value, at + "self_attn.v_proj.weight", 24, 48);
  ExpectMatrix(layer.output, at + "self_attn.o_proj.weight", 48, 48);
  ExpectVector(layer.mlp_norm, at + "post_attention_layernorm.weight", 48);
  ExpectMatrix(layer.gate, at + "mlp.gate_proj.weight", 52, 48);
  ExpectMatrix(layer.up, at + "mlp.up_proj.weight", 52, 48);
  ExpectMatrix(layer.down, at + "mlp.down_proj.weight", 48, 52);
  for (const WeightSource* none :
       {&layer.attention_norm_bias, &layer.mlp_norm_bias, &layer.query_bias,
        &layer.key_bias, &layer.value_bias, &layer.output_bias,
        &layer.query_norm, &layer.key_norm, &layer.gate_bias, &layer.up_bias,
        &layer.down_bias})
    EXPECT_FALSE(none->present()) << none->tensor;
  EXPECT_EQ(layer.window, 0);
  EXPECT_DOUBLE_EQ(layer.attention_scale, 1 / std::sqrt(6.0));
}

TEST(LlamaConfig, BiasesComeWithTheirKeys) {
  const Architecture attention =
      Read(With(Config("llama"), "attention_bias", true));
  const std::string at = "model.layers.0.";
  ExpectVector(attention.layers[0].query_bias, at + "self_attn.q_proj.bias",
               48);
  ExpectVector(attention.layers[0].key_bias, at + "self_attn.k_proj.bias", 24);
  ExpectVector(attention.layers[0].value_bias, at + "self_attn.v_proj.bias",
               24);
  ExpectVector(attention.layers[0].output_bias, at + "self_attn.o_proj.bias",
               48);
  EXPECT_FALSE(attention.layers[0].up_bias.present());
  const Architecture mlp = Read(With(Config("llama"), "mlp_bias", true));
  ExpectVector(mlp.layers[0].gate_bias, at + "mlp.gate_proj.bias", 52);
  ExpectVector(mlp.layers[0].up_bias, at + "mlp.up_proj.bias", 52);
  ExpectVector(mlp.layers[0].down_bias, at + "mlp.down_proj.bias", 48);
  EXPECT_FALSE(mlp.layers[0].query_bias.present());
}

TEST(LlamaConfig, HeadsOfKeysAndTheirDimensionsMayBeLeftOut) {
  const Json config = Config("llama");
  EXPECT_EQ(Read(Without(config, "num_key_value_heads")).kv_heads, 8);
  EXPECT_EQ(Read(With(config, "num_key_value_heads", nullptr)).kv_heads, 8);
  EXPECT_EQ(Read(With(config, "head_dim", nullptr)).head_dim, 6);
  const Architecture wide = Read(With(config, "head_dim", 10));
  EXPECT_EQ(wide.head_dim, 10);
  EXPECT_THAT(wide.layers[0].query.stored_shape, ElementsAre(80, 48));
  EXPECT_THAT(wide.layers[0].output.stored_shape, ElementsAre(48, 80));
  EXPECT_THAT(wide.layers[0].key.stored_shape, ElementsAre(40, 48));
  // With a size of their own, heads need not divide the hidden size.
  EXPECT_EQ(Read(With(With(config, "hidden_size", 47), "head_dim", 6)).head_dim,
            6);
}

TEST(LlamaConfig, ATiedHeadIsTheEmbedding) {
  const Architecture read =
      Read(With(Config("llama"), "tie_word_embeddings", true));
  EXPECT_TRUE(read.tied_head);
  ExpectMatrix(read.head, "model.embed_tokens.weight", 100, 48);
}

TEST(LlamaConfig, EndsOfTextAreOneOrManyOrNone) {
  const Json config = Config("llama");
  EXPECT_THAT(Read(config).end_of_text, IsEmpty());
  EXPECT_THAT(Read(With(config, "eos_token_id", 3)).end_of_text,
              ElementsAre(3));
  EXPECT_THAT(Read(With(config, "eos_token_id", {3, 99})).end_of_text,
              ElementsAre(3, 99));
  EXPECT_THAT(Read(With(config, "eos_token_id", nullptr)).end_of_text,
              IsEmpty());
  EXPECT_EQ(Read(config).begin_of_text, std::nullopt);
  EXPECT_EQ(Read(With(config, "bos_token_id", 0)).begin_of_text, 0);
  EXPECT_THAT(Refused(With(config, "eos_token_id", 100)),
              HasSubstr("eos_token_id: expected token ids below 100"));
  EXPECT_THAT(Refused(With(config, "bos_token_id", {1, 2})),
              HasSubstr("bos_token_id: expected one token id"));
}

TEST(LlamaConfig, SizesThatCannotBeAreRefused) {
  const Json config = Config("llama");
  for (const std::string& key : std::vector<std::string>{
           "vocab_size", "hidden_size", "intermediate_size",
           "num_hidden_layers", "num_attention_heads",
           "max_position_embeddings"}) {
    EXPECT_THAT(Refused(Without(config, key)),
                HasSubstr("c.json: " + key + ": expected a positive integer, " +
                          "found no such key"));
    for (const Json& value :
         std::vector<Json>{0, -4, 1.5, "x", nullptr, 1000000000000000000})
      EXPECT_THAT(Refused(With(config, key, value)),
                  HasSubstr("c.json: " + key + ": expected "))
          << value;
  }
  EXPECT_THAT(Refused(With(config, "num_key_value_heads", 3)),
              HasSubstr("num_attention_heads: expected a multiple of "
                        "num_key_value_heads, 3, found 8"));
  EXPECT_THAT(Refused(With(config, "num_key_value_heads", 16)),
              HasSubstr("expected a multiple of num_key_value_heads"));
  EXPECT_THAT(Refused(With(config, "hidden_size", 47)),
              HasSubstr("hidden_size: expected a multiple of "
                        "num_attention_heads, 8, found 47"));
  EXPECT_THAT(Refused(With(config, "head_dim", 5)),
              HasSubstr("head_dim: expected an even number"));
  EXPECT_THAT(Refused(With(config, "hidden_size", 40)),
              HasSubstr("head_dim: expected an even number"));
  EXPECT_THAT(Refused(With(config, "hidden_size", 1 << 24)),
              HasSubstr("head_dim: expected an even number up to 4096"));
  EXPECT_THAT(Refused(With(config, "num_hidden_layers", 1025)),
              HasSubstr("expected at most 1024, found 1025"));
  EXPECT_THAT(Refused(With(config, "rms_norm_eps", 0)),
              HasSubstr("rms_norm_eps: expected a positive number"));
}

TEST(LlamaConfig, OtherGraphsAreRefused) {
  const Json config = Config("llama");
  EXPECT_THAT(Refused(With(config, "hidden_act", "gelu")),
              HasSubstr("hidden_act: expected \"silu\", found \"gelu\""));
  EXPECT_THAT(
      Refused(With(config, "quantization_config", {{"quant_method", "gptq"}})),
      HasSubstr("quantized weights ('gptq') are not supported"));
  Read(With(config, "quantization_config", nullptr));
  EXPECT_THAT(Refused(With(config, "partial_rotary_factor", 0.5)),
              HasSubstr("partial_rotary_factor: expected 1, found 0.5"));
}

TEST(Families, AnUnknownOneIsToldWithTheKnown) {
  EXPECT_THAT(Refused(With(Config("llama"), "model_type", "lama")),
              HasSubstr("c.json: model_type: unknown family 'lama'; did you "
                        "mean 'llama'? known: llama, mistral, qwen2, qwen3, "
                        "gpt2"));
  EXPECT_THAT(Refused(Without(Config("llama"), "model_type")),
              HasSubstr("model_type: expected a text, found no such key"));
  for (const FamilyRow& row : FamilyCatalogue())
    EXPECT_FALSE(row.sentence.empty());
}

TEST(MistralConfig, HasOneWindowForAllLayersAndItsOwnDefaults) {
  const Json config = Config("mistral");
  EXPECT_THAT(Windows(With(config, "sliding_window", 5)), ElementsAre(5, 5, 5));
  EXPECT_THAT(Windows(With(config, "sliding_window", nullptr)),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(Windows(config), ElementsAre(4096, 4096, 4096));
  EXPECT_THAT(Refused(With(config, "sliding_window", 0)),
              HasSubstr("sliding_window: expected a positive integer"));
  EXPECT_EQ(Read(With(Without(config, "num_key_value_heads"),
                      "num_attention_heads", 24))
                .kv_heads,
            8);
  EXPECT_EQ(Read(With(config, "num_key_value_heads", nullptr)).kv_heads, 8);
  EXPECT_EQ(Read(With(With(config, "num_key_value_heads", nullptr),
                      "num_attention_heads", 24))
                .kv_heads,
            24);
  EXPECT_FALSE(Read(config).layers[0].query_bias.present());
}

TEST(Qwen2Config, HasBiasesThatNoKeyNames) {
  const Architecture read = Read(Config("qwen2"));
  EXPECT_EQ(read.family, "qwen2");
  for (const LayerSources& layer : read.layers) {
    EXPECT_TRUE(layer.query_bias.present());
    EXPECT_TRUE(layer.key_bias.present());
    EXPECT_TRUE(layer.value_bias.present());
    EXPECT_FALSE(layer.output_bias.present());
    EXPECT_FALSE(layer.query_norm.present());
  }
}

TEST(QwenConfig, WindowsFollowTheirFourKeys) {
  for (const std::string family : {"qwen2", "qwen3"}) {
    const Json config = Config(family);
    EXPECT_THAT(Windows(config), ElementsAre(0, 0, 0));
    const Json unused =
        With(With(config, "sliding_window", 9), "max_window_layers", 0);
    EXPECT_THAT(Windows(unused), ElementsAre(0, 0, 0));
    const Json used = With(unused, "use_sliding_window", true);
    EXPECT_THAT(Windows(used), ElementsAre(9, 9, 9));
    EXPECT_THAT(Windows(With(used, "max_window_layers", 2)),
                ElementsAre(0, 0, 9));
    EXPECT_THAT(Windows(With(used, "max_window_layers", 70)),
                ElementsAre(0, 0, 0));
    EXPECT_THAT(Windows(Without(used, "max_window_layers")),
                ElementsAre(0, 0, 0));
    EXPECT_THAT(Windows(Without(used, "sliding_window")),
                ElementsAre(4096, 4096, 4096));
    EXPECT_THAT(Windows(With(used, "sliding_window", nullptr)),
                ElementsAre(0, 0, 0));
    const Json types = {"sliding_attention", "full_attention",
                        "sliding_attention"};
    EXPECT_THAT(Windows(With(used, "layer_types", types)),
                ElementsAre(9, 0, 9));
    EXPECT_THAT(Refused(With(unused, "layer_types", types)),
                HasSubstr("sliding_attention needs use_sliding_window"));
    EXPECT_THAT(Refused(With(used, "layer_types", {"full_attention"})),
                HasSubstr("layer_types: expected 3 types, found 1"));
    EXPECT_THAT(
        Refused(With(used, "layer_types", {"a", "full_attention", "b"})),
        HasSubstr("expected full_attention or sliding_attention, found 'a'"));
  }
}

TEST(Qwen3Config, HasNormsOverHeadsOfTheirOwnSize) {
  const Architecture read = Read(Config("qwen3"));
  EXPECT_EQ(read.head_dim, 128);
  const LayerSources& layer = read.layers[1];
  ExpectVector(layer.query_norm, "model.layers.1.self_attn.q_norm.weight", 128);
  ExpectVector(layer.key_norm, "model.layers.1.self_attn.k_norm.weight", 128);
  EXPECT_THAT(layer.query.stored_shape, ElementsAre(1024, 48));
  EXPECT_DOUBLE_EQ(layer.attention_scale, 1 / std::sqrt(128.0));
  EXPECT_FALSE(layer.query_bias.present());
  const Architecture biased =
      Read(With(Config("qwen3"), "attention_bias", true));
  EXPECT_TRUE(biased.layers[0].query_bias.present());
  EXPECT_TRUE(biased.layers[0].output_bias.present());
  EXPECT_EQ(Read(With(Config("qwen3"), "head_dim", 16)).head_dim, 16);
}

// Rope of a llama with these keys.
Rope RopeOf(const Json& keys) {
  Json config = Config("llama");
  config.update(keys);
  return Read(config).rope.value_or(Rope());
}

std::string RopeRefused(const Json& keys) {
  Json config = Config("llama");
  config.update(keys);
  return Refused(config);
}

Json Llama3() {
  return {{"rope_type", "llama3"},
          {"factor", 8.0},
          {"low_freq_factor", 1},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 32}};
}

TEST(RopeConfig, IsReadInOldAndNewForms) {
  EXPECT_TRUE(Read(Config("llama")).rope.has_value());
  EXPECT_EQ(RopeOf(Json::object()).theta, 10000);
  EXPECT_EQ(RopeOf({{"rope_theta", 5e5}}).theta, 5e5);
  const Rope none = RopeOf({{"rope_scaling", nullptr}});
  EXPECT_EQ(none.scaling, Rope::Scaling::kNone);
  for (const std::string key : {"type", "rope_type"}) {
    const Rope linear =
        RopeOf({{"rope_theta", 7},
                {"rope_scaling", {{key, "linear"}, {"factor", 2.5}}}});
    EXPECT_EQ(linear.scaling, Rope::Scaling::kLinear);
    EXPECT_EQ(linear.theta, 7);
    EXPECT_EQ(linear.factor, 2.5);
  }
  const Rope newer = RopeOf(
      {{"rope_parameters", {{"rope_theta", 5}, {"rope_type", "default"}}}});
  EXPECT_EQ(newer.theta, 5);
  EXPECT_EQ(newer.scaling, Rope::Scaling::kNone);
  EXPECT_EQ(RopeOf({{"rope_theta", 6},
                    {"rope_parameters", {{"rope_type", "default"}}}})
                .theta,
            6);
  EXPECT_EQ(
      RopeOf({{"rope_scaling",
               {{"type", "linear"}, {"rope_type", "linear"}, {"factor", 2}}}})
          .factor,
      2);
}

TEST(RopeConfig, Llama3HasFourNumbers) {
  for (const std::string key : {"rope_scaling", "rope_parameters"}) {
    const Rope rope = RopeOf({{"rope_theta", 3}, {key, Llama3()}});
    EXPECT_EQ(rope.theta, 3);
    EXPECT_EQ(rope.scaling, Rope::Scaling::kLlama3);
    EXPECT_EQ(rope.factor, 8);
    EXPECT_EQ(rope.low_frequency_factor, 1);
    EXPECT_EQ(rope.high_frequency_factor, 4);
    EXPECT_EQ(rope.original_context, 32);
    for (const std::string number :
         {"factor", "low_freq_factor", "high_freq_factor",
          "original_max_position_embeddings"})
      EXPECT_THAT(RopeRefused({{key, Without(Llama3(), number)}}),
                  HasSubstr(key + "." + number + ": expected a positive"));
  }
  EXPECT_THAT(
      RopeRefused({{"rope_scaling", With(Llama3(), "high_freq_factor", 1)}}),
      HasSubstr("high_freq_factor: expected more than low_freq_factor"));
}

TEST(RopeConfig, OtherScalingsAreRefusedByName) {
  for (const std::string kind :
       {"dynamic", "yarn", "longrope", "su", "mrope", ""}) {
    EXPECT_THAT(
        RopeRefused({{"rope_scaling", {{"rope_type", kind}, {"factor", 2}}}}),
        HasSubstr("rope_scaling.rope_type: expected default, linear or "
                  "llama3, found '" +
                  kind + "'"));
  }
  EXPECT_THAT(RopeRefused({{"rope_scaling", {{"type", "yarn"}}}}),
              HasSubstr("rope_scaling.type: expected default, linear or"));
  EXPECT_THAT(
      RopeRefused(
          {{"rope_scaling",
            {{"type", "yarn"}, {"rope_type", "linear"}, {"factor", 2}}}}),
      HasSubstr("rope_scaling.type: 'yarn' is not the rope_type"));
  EXPECT_THAT(RopeRefused({{"rope_scaling", {{"type", "linear"}}}}),
              HasSubstr("rope_scaling.factor: expected a positive number"));
  EXPECT_THAT(
      RopeRefused({{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}),
      HasSubstr("factor: expected a number of at least 1, found 0.5"));
  EXPECT_THAT(
      RopeRefused({{"rope_scaling", Llama3()}, {"rope_parameters", Llama3()}}),
      HasSubstr("expected either this or rope_parameters"));
  EXPECT_THAT(RopeRefused({{"rope_parameters",
                            {{"full_attention", {{"rope_theta", 1}}}}}}),
              HasSubstr("rope_parameters: expected one set for all layers"));
  EXPECT_THAT(
      RopeRefused({{"rope_parameters", {{"partial_rotary_factor", 0.25}}}}),
      HasSubstr("rope_parameters.partial_rotary_factor: expected 1"));
  EXPECT_THAT(RopeRefused({{"rope_theta", 0}}),
              HasSubstr("rope_theta: expected a positive number"));
  EXPECT_THAT(RopeRefused({{"rope_scaling", 2}}),
              HasSubstr("rope_scaling: expected an object, found 2"));
}

}  // namespace
}  // namespace banyan
