#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/families/families.h"

namespace banyan {
namespace {

// Rows [first_row, first_row + rows) of a matrix stored [columns, all_rows].
WeightSource Slice(std::string tensor, int all_rows, int columns, int first_row,
                   int rows) {
  return {.tensor = std::move(tensor),
          .stored_shape = {columns, all_rows},
          .rows = rows,
          .columns = columns,
          .first_row = first_row,
          .transposed = true};
}

// Query, key or value (the `part`) of the three stored as one.
WeightSource Third(const std::string& prefix, int hidden, int part) {
  return Slice(absl::StrCat(prefix, "attn.c_attn.weight"), 3 * hidden, hidden,
               part * hidden, hidden);
}

WeightSource ThirdBias(const std::string& prefix, int hidden, int part) {
  WeightSource result =
      Vector(absl::StrCat(prefix, "attn.c_attn.bias"), 3 * hidden);
  result.rows = hidden;
  result.first_row = part * hidden;
  return result;
}

LayerSources Layer(int hidden, int wide, const std::string& prefix) {
  const auto vector = [&prefix](const char* name, int rows) {
    return Vector(absl::StrCat(prefix, name), rows);
  };
  const auto matrix = [&prefix](const char* name, int rows, int columns) {
    return Slice(absl::StrCat(prefix, name), rows, columns, 0, rows);
  };
  LayerSources layer;
  layer.attention_norm = vector("ln_1.weight", hidden);
  layer.attention_norm_bias = vector("ln_1.bias", hidden);
  layer.query = Third(prefix, hidden, 0);
  layer.key = Third(prefix, hidden, 1);
  layer.value = Third(prefix, hidden, 2);
  layer.query_bias = ThirdBias(prefix, hidden, 0);
  layer.key_bias = ThirdBias(prefix, hidden, 1);
  layer.value_bias = ThirdBias(prefix, hidden, 2);
  layer.output = matrix("attn.c_proj.weight", hidden, hidden);
  layer.output_bias = vector("attn.c_proj.bias", hidden);
  layer.mlp_norm = vector("ln_2.weight", hidden);
  layer.mlp_norm_bias = vector("ln_2.bias", hidden);
  layer.up = matrix("mlp.c_fc.weight", wide, hidden);
  layer.up_bias = vector("mlp.c_fc.bias", wide);
  layer.down = matrix("mlp.c_proj.weight", hidden, wide);
  layer.down_bias = vector("mlp.c_proj.bias", hidden);
  return layer;
}

void ReadSizes(ConfigReader& in, Architecture& result) {
  result.vocab_size = in.Size("vocab_size");
  result.hidden_size = in.Size("n_embd");
  result.heads = in.Size("n_head", kMaxHeads);
  result.kv_heads = result.heads;
  if (result.hidden_size % result.heads != 0)
    in.Unexpected("n_embd",
                  absl::StrCat("a multiple of n_head, ", result.heads));
  result.head_dim = result.hidden_size / result.heads;
  if (result.head_dim > kMaxHeadDim)
    in.Unexpected("n_embd", absl::StrCat("at most ", kMaxHeadDim, " a head"));
  // Four times the width is what null and no key mean.
  result.feed_forward_size = in.SizeOr("n_inner", 4 * result.hidden_size);
  result.context_limit = in.Size("n_positions");
}

void ReadActivation(ConfigReader& in, Architecture& result) {
  // Two names for one formula, the tanh form.
  const std::string name = in.TextOr("activation_function", "gelu_new");
  if (name != "gelu_new" && name != "gelu_pytorch_tanh")
    in.Unexpected("activation_function",
                  "\"gelu_new\" or \"gelu_pytorch_tanh\"");
  result.activation = Architecture::Activation::kGeluTanh;
}

}  // namespace

Architecture ReadGpt2(ConfigReader& in, HasTensor has_tensor) {
  Architecture result;
  result.family = "gpt2";
  ReadSizes(in, result);
  ReadActivation(in, result);
  const int layers = in.Size("n_layer", kMaxLayers);
  result.norm = Architecture::Norm::kLayer;
  result.norm_epsilon = in.PositiveOr("layer_norm_epsilon", 1e-5);
  ReadTextEnds(in, result);
  RefuseQuantized(in);
  if (in.Flag("add_cross_attention", false))
    in.Unexpected("add_cross_attention", "false");
  const bool scaled = in.Flag("scale_attn_weights", true);
  const bool by_layer = in.Flag("scale_attn_by_inverse_layer_idx", false);
  // Of a tied pair stored under the head's name the first is not there.
  const std::string prefix = has_tensor("transformer.wte.weight") ||
                                     has_tensor("transformer.wpe.weight")
                                 ? "transformer."
                                 : "";
  const int hidden = result.hidden_size;
  result.embedding =
      Matrix(absl::StrCat(prefix, "wte.weight"), result.vocab_size, hidden);
  result.positions =
      Matrix(absl::StrCat(prefix, "wpe.weight"), result.context_limit, hidden);
  result.final_norm = Vector(absl::StrCat(prefix, "ln_f.weight"), hidden);
  result.final_norm_bias = Vector(absl::StrCat(prefix, "ln_f.bias"), hidden);
  ReadHead(in, /*tied_by_default=*/true, has_tensor, result);
  if (!in.status().ok()) return result;
  result.layer_prefix = absl::StrCat(prefix, "h.");
  for (int i = 0; i < layers; ++i) {
    result.layers.push_back(Layer(hidden, result.feed_forward_size,
                                  absl::StrCat(result.layer_prefix, i, ".")));
    result.layers.back().attention_scale =
        (scaled ? 1 / std::sqrt(static_cast<double>(result.head_dim)) : 1.0) /
        (by_layer ? i + 1 : 1);
  }
  return result;
}

}  // namespace banyan
