#include <cmath>
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

Json Config() {
  return {{"model_type", "gpt2"}, {"vocab_size", 100}, {"n_embd", 20},
          {"n_head", 4},          {"n_layer", 2},      {"n_positions", 64}};
}

Architecture Read(const Json& config,
                  const std::set<std::string>& tensors = {}) {
  absl::StatusOr<Architecture> read = ReadConfig(config, tensors);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : Architecture();
}

void ExpectSlice(const WeightSource& source, const std::string& name,
                 int columns, int all_rows, int first_row, int rows) {
  EXPECT_EQ(source.tensor, name);
  EXPECT_THAT(source.stored_shape, ElementsAre(columns, all_rows)) << name;
  EXPECT_EQ(source.rows, rows) << name;
  EXPECT_EQ(source.columns, columns) << name;
  EXPECT_EQ(source.first_row, first_row) << name;
  EXPECT_TRUE(source.transposed) << name;
}

TEST(Gpt2Config, GivesSizesAndWeightsStoredTheOtherWayRound) {
  const Architecture read = Read(Config());
  EXPECT_EQ(read.family, "gpt2");
  EXPECT_EQ(read.hidden_size, 20);
  EXPECT_EQ(read.heads, 4);
  EXPECT_EQ(read.kv_heads, 4);
  EXPECT_EQ(read.head_dim, 5);
  EXPECT_EQ(read.feed_forward_size, 80);
  EXPECT_EQ(read.context_limit, 64);
  EXPECT_EQ(read.norm, Architecture::Norm::kLayer);
  EXPECT_EQ(read.norm_epsilon, 1e-5);
  EXPECT_EQ(read.activation, Architecture::Activation::kGeluTanh);
  EXPECT_FALSE(read.rope.has_value());
  EXPECT_EQ(read.embedding.tensor, "wte.weight");
  EXPECT_THAT(read.positions.stored_shape, ElementsAre(64, 20));
  EXPECT_EQ(read.final_norm_bias.tensor, "ln_f.bias");
  EXPECT_TRUE(read.tied_head);
  EXPECT_EQ(read.head.tensor, "wte.weight");
  ASSERT_EQ(read.layers.size(), 2u);
  const LayerSources& layer = read.layers[1];
  ExpectSlice(layer.query, "h.1.attn.c_attn.weight", 20, 60, 0, 20);
  ExpectSlice(layer.key, "h.1.attn.c_attn.weight", 20, 60, 20, 20);
  ExpectSlice(layer.value, "h.1.attn.c_attn.weight", 20, 60, 40, 20);
  ExpectSlice(layer.output, "h.1.attn.c_proj.weight", 20, 20, 0, 20);
  ExpectSlice(layer.up, "h.1.mlp.c_fc.weight", 20, 80, 0, 80);
  ExpectSlice(layer.down, "h.1.mlp.c_proj.weight", 80, 20, 0, 20);
  EXPECT_FALSE(layer.gate.present());
  EXPECT_EQ(layer.value_bias.tensor, "h.1.attn.c_attn.bias");
  EXPECT_THAT(layer.value_bias.stored_shape, ElementsAre(60));
  EXPECT_EQ(layer.value_bias.first_row, 40);
  EXPECT_EQ(layer.value_bias.rows, 20);
  for (const WeightSource* bias :
       {&layer.attention_norm_bias, &layer.mlp_norm_bias, &layer.output_bias,
        &layer.up_bias, &layer.down_bias})
    EXPECT_TRUE(bias->present());
}

TEST(Gpt2Config, TakesThePrefixThatTheTensorsHave) {
  const Architecture read = Read(Config(), {"transformer.wte.weight"});
  EXPECT_EQ(read.embedding.tensor, "transformer.wte.weight");
  EXPECT_EQ(read.head.tensor, "transformer.wte.weight");
  EXPECT_EQ(read.layers[1].down.tensor, "transformer.h.1.mlp.c_proj.weight");
  EXPECT_EQ(read.final_norm.tensor, "transformer.ln_f.weight");
  const Architecture untied = Read(With(Config(), "tie_word_embeddings", false),
                                   {"transformer.wte.weight"});
  EXPECT_EQ(untied.head.tensor, "lm_head.weight");
}

TEST(Gpt2Config, ReadsItsOwnKeys) {
  EXPECT_EQ(Read(With(Config(), "n_inner", nullptr)).feed_forward_size, 80);
  EXPECT_EQ(Read(With(Config(), "n_inner", 52)).feed_forward_size, 52);
  EXPECT_EQ(Read(With(Config(), "layer_norm_epsilon", 1e-3)).norm_epsilon,
            1e-3);
  Read(With(Config(), "activation_function", "gelu_new"));
  Read(With(Config(), "activation_function", "gelu_pytorch_tanh"));
  EXPECT_THAT(Refused(With(Config(), "activation_function", "gelu")),
              HasSubstr("activation_function: expected \"gelu_new\" or "
                        "\"gelu_pytorch_tanh\", found \"gelu\""));
  EXPECT_THAT(Refused(With(Config(), "add_cross_attention", true)),
              HasSubstr("add_cross_attention: expected false"));
  for (const std::string& key : std::vector<std::string>{
           "vocab_size", "n_embd", "n_head", "n_layer", "n_positions"})
    EXPECT_THAT(Refused(Without(Config(), key)),
                HasSubstr(key + ": expected a positive integer"));
  EXPECT_THAT(Refused(With(Config(), "n_head", 3)),
              HasSubstr("n_embd: expected a multiple of n_head, 3, found 20"));
  EXPECT_THAT(Refused(With(Config(), "n_embd", 1 << 24)),
              HasSubstr("n_embd: expected at most 4096 a head"));
}

std::vector<double> Scales(const Json& config) {
  std::vector<double> scales;
  for (const LayerSources& layer : Read(config).layers)
    scales.push_back(layer.attention_scale);
  return scales;
}

TEST(Gpt2Config, ScalesAttentionAsItsTwoKeysSay) {
  const double root = 1 / std::sqrt(5.0);
  EXPECT_THAT(Scales(Config()), ElementsAre(root, root));
  const Json by_layer = With(Config(), "scale_attn_by_inverse_layer_idx", true);
  EXPECT_THAT(Scales(by_layer), ElementsAre(root, root / 2));
  EXPECT_THAT(Scales(With(Config(), "scale_attn_weights", false)),
              ElementsAre(1, 1));
  EXPECT_THAT(Scales(With(by_layer, "scale_attn_weights", false)),
              ElementsAre(1, 0.5));
}

}  // namespace
}  // namespace banyan
