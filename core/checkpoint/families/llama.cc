#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/families/families.h"

namespace banyan {

namespace {

constexpr double kDefaultEpsilon = 1e-6;  // every family's of this kind

void ReadHeads(ConfigReader& in, const LlamaKind& kind,
               Architecture& architecture) {
  const int heads = in.Size("num_attention_heads", kMaxHeads);
  architecture.heads = heads;
  // Null is as many as heads in every family, and differs from no key.
  const bool has_default =
      kind.kv_heads > 0 && !in.IsGiven("num_key_value_heads");
  architecture.kv_heads = in.SizeOr(
      "num_key_value_heads", has_default ? kind.kv_heads : heads, kMaxHeads);
  if (heads % architecture.kv_heads != 0)
    in.Fail("num_attention_heads",
            absl::StrCat("expected a multiple of num_key_value_heads, ",
                         architecture.kv_heads, ", found ", heads));
  if (kind.head_dim == 0 && !in.Has("head_dim") &&
      architecture.hidden_size % heads != 0)
    in.Unexpected("hidden_size",
                  absl::StrCat("a multiple of num_attention_heads, ", heads));
  architecture.head_dim = in.SizeOr(
      "head_dim",
      kind.head_dim > 0 ? kind.head_dim : architecture.hidden_size / heads,
      kMaxHeadDim);
  if (architecture.head_dim > kMaxHeadDim || architecture.head_dim % 2 != 0)
    in.Fail("head_dim",
            absl::StrCat("expected an even number up to ", kMaxHeadDim,
                         " (rotary positions), found ", architecture.head_dim));
}

}  // namespace

LayerSources LlamaLayer(const Architecture& of, const LlamaKind& kind,
                        const std::string& prefix) {
  const auto matrix = [&prefix](const char* name, int rows, int columns) {
    return Matrix(absl::StrCat(prefix, name, ".weight"), rows, columns);
  };
  const auto norm = [&prefix](const char* name, int rows) {
    return Vector(absl::StrCat(prefix, name, ".weight"), rows);
  };
  const auto bias = [&prefix](bool there, const char* name, int rows) {
    return there ? Vector(absl::StrCat(prefix, name, ".bias"), rows)
                 : WeightSource();
  };
  const int hidden = of.hidden_size;
  const int wide = of.feed_forward_size;
  const int queries = of.heads * of.head_dim;
  const int keys = of.kv_heads * of.head_dim;
  LayerSources layer;
  layer.attention_norm = norm("input_layernorm", hidden);
  layer.query = matrix("self_attn.q_proj", queries, hidden);
  layer.key = matrix("self_attn.k_proj", keys, hidden);
  layer.value = matrix("self_attn.v_proj", keys, hidden);
  layer.output = matrix("self_attn.o_proj", hidden, queries);
  const bool biased = kind.query_key_value_bias;
  layer.query_bias = bias(biased, "self_attn.q_proj", queries);
  layer.key_bias = bias(biased, "self_attn.k_proj", keys);
  layer.value_bias = bias(biased, "self_attn.v_proj", keys);
  layer.output_bias = bias(kind.output_bias, "self_attn.o_proj", hidden);
  if (kind.head_norms) {
    layer.query_norm = norm("self_attn.q_norm", of.head_dim);
    layer.key_norm = norm("self_attn.k_norm", of.head_dim);
  }
  layer.mlp_norm = norm("post_attention_layernorm", hidden);
  layer.gate = matrix("mlp.gate_proj", wide, hidden);
  layer.up = matrix("mlp.up_proj", wide, hidden);
  layer.down = matrix("mlp.down_proj", hidden, wide);
  layer.gate_bias = bias(kind.mlp_bias, "mlp.gate_proj", wide);
  layer.up_bias = bias(kind.mlp_bias, "mlp.up_proj", wide);
  layer.down_bias = bias(kind.mlp_bias, "mlp.down_proj", hidden);
  layer.attention_scale = 1 / std::sqrt(static_cast<double>(of.head_dim));
  return layer;
}

Architecture ReadLlamaKind(ConfigReader& in, HasTensor has_tensor,
                           const LlamaKind& kind) {
  Architecture result;
  result.family = std::string(kind.family);
  result.vocab_size = in.Size("vocab_size");
  result.hidden_size = in.Size("hidden_size");
  result.feed_forward_size = in.Size("intermediate_size");
  const int layers = in.Size("num_hidden_layers", kMaxLayers);
  ReadHeads(in, kind, result);
  result.context_limit = in.Size("max_position_embeddings");
  result.norm = Architecture::Norm::kRms;
  result.norm_epsilon = in.PositiveOr("rms_norm_eps", kDefaultEpsilon);
  // The same, but in a grown model, whose heads did not grow.
  result.head_norm_epsilon =
      in.PositiveOr("head_norm_eps", result.norm_epsilon);
  if (in.TextOr("hidden_act", "silu") != "silu")
    in.Unexpected("hidden_act", "\"silu\"");
  result.activation = Architecture::Activation::kSilu;
  result.rope = ReadRope(in);
  ReadTextEnds(in, result);
  RefuseQuantized(in);
  result.embedding = Matrix("model.embed_tokens.weight", result.vocab_size,
                            result.hidden_size);
  result.final_norm = Vector("model.norm.weight", result.hidden_size);
  ReadHead(in, /*tied_by_default=*/false, has_tensor, result);
  if (!in.status().ok()) return result;
  result.layer_prefix = "model.layers.";
  for (int i = 0; i < layers; ++i)
    result.layers.push_back(
        LlamaLayer(result, kind, absl::StrCat(result.layer_prefix, i, ".")));
  return result;
}

Architecture ReadLlama(ConfigReader& in, HasTensor has_tensor) {
  LlamaKind kind = {.family = "llama"};
  kind.query_key_value_bias = in.Flag("attention_bias", false);
  kind.output_bias = kind.query_key_value_bias;
  kind.mlp_bias = in.Flag("mlp_bias", false);
  return ReadLlamaKind(in, has_tensor, kind);
}

Architecture ReadMistral(ConfigReader& in, HasTensor has_tensor) {
  // What the family has where its files say nothing; null is no window.
  constexpr int kDefaultHeads = 8;
  constexpr int kDefaultWindow = 4096;
  Architecture result = ReadLlamaKind(
      in, has_tensor, {.family = "mistral", .kv_heads = kDefaultHeads});
  const int window = in.IsGiven("sliding_window")
                         ? in.SizeOr("sliding_window", 0)
                         : kDefaultWindow;
  for (LayerSources& layer : result.layers) layer.window = window;
  return result;
}

Architecture ReadQwen2(ConfigReader& in, HasTensor has_tensor) {
  Architecture result = ReadLlamaKind(
      in, has_tensor, {.family = "qwen2", .query_key_value_bias = true});
  ReadWindows(in, result.layers);
  return result;
}

Architecture ReadQwen3(ConfigReader& in, HasTensor has_tensor) {
  LlamaKind kind = {.family = "qwen3", .head_dim = 128, .head_norms = true};
  kind.query_key_value_bias = in.Flag("attention_bias", false);
  kind.output_bias = kind.query_key_value_bias;
  Architecture result = ReadLlamaKind(in, has_tensor, kind);
  ReadWindows(in, result.layers);
  return result;
}

}  // namespace banyan
