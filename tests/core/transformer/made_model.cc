#include "tests/core/transformer/made_model.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/checkpoint/checkpoint.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

constexpr int kHidden = 96;
constexpr int kKeys = 48;
constexpr int kFeedForward = 136;
constexpr int kVocab = 301;

// Weights of a size that keeps activations of the order of one.
MadeTensor Matrix(int rows, int columns, Dice& dice) {
  std::vector<float> numbers(static_cast<std::size_t>(rows) *
                             static_cast<std::size_t>(columns));
  const float size = std::sqrt(3.0F / static_cast<float>(columns));
  for (float& x : numbers) x = size * dice.Signed();
  return {"F32", {rows, columns}, Stored(numbers)};
}

MadeTensor Gains(Dice& dice) {
  std::vector<float> numbers(kHidden);
  for (float& x : numbers) x = 1 + 0.2F * dice.Signed();
  return {"F32", {kHidden}, Stored(numbers)};
}

void AddLayer(int place, int layer, MadeTensors& tensors) {
  Dice dice(static_cast<std::uint64_t>(layer));
  const std::string name = absl::StrCat("model.layers.", place, ".");
  tensors[name + "input_layernorm.weight"] = Gains(dice);
  tensors[name + "self_attn.q_proj.weight"] = Matrix(kHidden, kHidden, dice);
  tensors[name + "self_attn.k_proj.weight"] = Matrix(kKeys, kHidden, dice);
  tensors[name + "self_attn.v_proj.weight"] = Matrix(kKeys, kHidden, dice);
  tensors[name + "self_attn.o_proj.weight"] = Matrix(kHidden, kHidden, dice);
  tensors[name + "post_attention_layernorm.weight"] = Gains(dice);
  tensors[name + "mlp.gate_proj.weight"] = Matrix(kFeedForward, kHidden, dice);
  tensors[name + "mlp.up_proj.weight"] = Matrix(kFeedForward, kHidden, dice);
  tensors[name + "mlp.down_proj.weight"] = Matrix(kHidden, kFeedForward, dice);
}

}  // namespace

MadeModel::MadeModel(const MadeModelOptions& options) {
  folder_.Write(
      "config.json",
      absl::StrCat(R"({"model_type": "llama", "vocab_size": )", kVocab,
                   R"(, "hidden_size": )", kHidden,
                   R"(, "intermediate_size": )", kFeedForward,
                   R"(, "num_hidden_layers": )", options.layers.size(),
                   R"(, "num_attention_heads": 6, "num_key_value_heads": 3)",
                   R"(, "max_position_embeddings": )", options.context_limit,
                   R"(, "eos_token_id": 2})"));
  Dice dice(1000);
  MadeTensors tensors;
  tensors["model.embed_tokens.weight"] = Matrix(kVocab, kHidden, dice);
  tensors["model.norm.weight"] = Gains(dice);
  tensors["lm_head.weight"] = Matrix(kVocab, kHidden, dice);
  for (std::size_t i = 0; i < options.layers.size(); ++i)
    AddLayer(static_cast<int>(i), options.layers[i], tensors);
  folder_.Write("model.safetensors", SafetensorsFile(tensors));
}

std::unique_ptr<Transformer> MadeModel::Load(std::shared_ptr<Backend> backend,
                                             WeightFormat format) const {
  const auto checkpoint = Checkpoint::Open(folder_.path());
  Check(checkpoint.ok(), checkpoint.status().message());
  auto model =
      Transformer::Load(**checkpoint, {.format = format}, std::move(backend));
  Check(model.ok(), model.status().message());
  return *std::move(model);
}

}  // namespace banyan
