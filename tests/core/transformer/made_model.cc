#include "tests/core/transformer/made_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/checkpoint/checkpoint.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

constexpr int kHeadDim = 16;
constexpr int kCycle = 5;
// Of the embeddings of a cyclic model, beside what its layers add.
constexpr float kLoud = 2;

int HiddenOf(const MadeModelOptions& options) {
  return options.heads * kHeadDim;
}

// Weights of a size that keeps activations of the order of one.
std::vector<float> Numbers(int rows, int columns, Dice& dice) {
  std::vector<float> numbers(static_cast<std::size_t>(rows) *
                             static_cast<std::size_t>(columns));
  const float size = std::sqrt(3.0F / static_cast<float>(columns));
  for (float& x : numbers) x = size * dice.Signed();
  return numbers;
}

MadeTensor Matrix(int rows, int columns, Dice& dice) {
  return {"F32", {rows, columns}, Stored(Numbers(rows, columns, dice))};
}

MadeTensor Gains(int count, Dice& dice) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = 1 + 0.2F * dice.Signed();
  return {"F32", {count}, Stored(numbers)};
}

std::vector<float> Embedding(const MadeModelOptions& options) {
  Dice dice(1000);
  std::vector<float> numbers = Numbers(options.vocab, HiddenOf(options), dice);
  if (options.cyclic)
    for (float& x : numbers) x *= kLoud;
  return numbers;
}

void AddLayer(const MadeModelOptions& options, int place, int layer,
              MadeTensors& tensors) {
  const int hidden = HiddenOf(options);
  const int keys = options.kv_heads * kHeadDim;
  const int feed_forward = options.feed_forward;
  Dice dice(static_cast<std::uint64_t>(layer));
  const std::string name = absl::StrCat("model.layers.", place, ".");
  tensors[name + "input_layernorm.weight"] = Gains(hidden, dice);
  tensors[name + "self_attn.q_proj.weight"] = Matrix(hidden, hidden, dice);
  tensors[name + "self_attn.k_proj.weight"] = Matrix(keys, hidden, dice);
  tensors[name + "self_attn.v_proj.weight"] = Matrix(keys, hidden, dice);
  tensors[name + "self_attn.o_proj.weight"] = Matrix(hidden, hidden, dice);
  tensors[name + "post_attention_layernorm.weight"] = Gains(hidden, dice);
  tensors[name + "mlp.gate_proj.weight"] = Matrix(feed_forward, hidden, dice);
  tensors[name + "mlp.up_proj.weight"] = Matrix(feed_forward, hidden, dice);
  tensors[name + "mlp.down_proj.weight"] = Matrix(hidden, feed_forward, dice);
}

}  // namespace

std::vector<float> CyclicHead(const MadeModelOptions& options, int steps) {
  const std::vector<float> embedding = Embedding(options);
  const int hidden = HiddenOf(options);
  std::vector<float> head(embedding.size());
  for (int token = 0; token < options.vocab; ++token) {
    const int first = token / kCycle * kCycle;
    const int size = std::min(kCycle, options.vocab - first);
    const int to = first + (token - first + steps) % size;
    std::copy_n(embedding.begin() + token * hidden, hidden,
                head.begin() + to * hidden);
  }
  return head;
}

MadeModel::MadeModel(const MadeModelOptions& options) {
  const int hidden = HiddenOf(options);
  folder_.Write(
      "config.json",
      absl::StrCat(R"({"model_type": "llama", "vocab_size": )", options.vocab,
                   R"(, "hidden_size": )", hidden, R"(, "intermediate_size": )",
                   options.feed_forward, R"(, "num_hidden_layers": )",
                   options.layers.size(), R"(, "num_attention_heads": )",
                   options.heads, R"(, "num_key_value_heads": )",
                   options.kv_heads, R"(, "max_position_embeddings": )",
                   options.context_limit, R"(, "eos_token_id": 2})"));
  Dice dice(1001);
  MadeTensors tensors;
  const std::vector<std::int64_t> shape = {options.vocab, hidden};
  tensors["model.embed_tokens.weight"] = {"F32", shape,
                                          Stored(Embedding(options))};
  tensors["model.norm.weight"] = Gains(hidden, dice);
  tensors["lm_head.weight"] =
      options.cyclic ? MadeTensor{"F32", shape, Stored(CyclicHead(options, 1))}
                     : Matrix(options.vocab, hidden, dice);
  for (std::size_t i = 0; i < options.layers.size(); ++i)
    AddLayer(options, static_cast<int>(i), options.layers[i], tensors);
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
