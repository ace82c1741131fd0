#include "tests/gpu/random_family.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/families/families.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

// Sizes that no tile of a kernel divides, heads that share keys, and a prefix
// longer than a stretch of attention.
constexpr char kSizes[] =
    R"("vocab_size": 301, "hidden_size": 104, "intermediate_size": 136,
       "num_attention_heads": 6,
       "num_key_value_heads": 2, "head_dim": 20,
       "max_position_embeddings": 640, "eos_token_id": 2,
       "tie_word_embeddings": false})";

std::string ConfigOf(const std::string& family, int layers) {
  if (family == "gpt2")
    return absl::StrCat(
        R"({"model_type": "gpt2", "vocab_size": 301, "n_embd": 104,
            "n_head": 4, "n_positions": 640, "eos_token_id": 2,
            "n_layer": )",
        layers, "}");
  const std::string window =
      family == "mistral" ? R"("sliding_window": 40,)" : "";
  // The head's size of qwen2 is the hidden size over the number of heads.
  if (family == "qwen2")
    return absl::StrCat(
        R"({"model_type": "qwen2", "vocab_size": 301, "hidden_size": 112,
            "intermediate_size": 136, "num_attention_heads": 4,
            "num_key_value_heads": 2, "max_position_embeddings": 640,
            "eos_token_id": 2, "tie_word_embeddings": false,
            "num_hidden_layers": )",
        layers, "}");
  return absl::StrCat(R"({"model_type": ")", family, R"(", )", window,
                      R"("num_hidden_layers": )", layers, ", ", kSizes);
}

MadeTensor RandomTensor(const WeightSource& source, Dice& dice) {
  std::size_t size = 1;
  for (std::int64_t length : source.stored_shape)
    size *= static_cast<std::size_t>(length);
  std::vector<float> numbers(size);
  const bool matrix = source.stored_shape.size() > 1;
  const bool gain = !matrix && !absl::EndsWith(source.tensor, "bias");
  // Of a size that keeps activations of the order of one.
  const float spread =
      matrix ? std::sqrt(3.0F / static_cast<float>(source.columns)) : 0.2F;
  for (float& x : numbers) x = (gain ? 1.0F : 0.0F) + spread * dice.Signed();
  return {"F32", source.stored_shape, Stored(numbers)};
}

}  // namespace

const std::vector<std::string>& RandomFamilies() {
  static const auto& families =
      *new std::vector<std::string>{"gpt2", "mistral", "qwen2", "qwen3"};
  return families;
}

std::unique_ptr<TestFolder> MakeRandomModel(const std::string& family,
                                            int layers) {
  const std::string config = ConfigOf(family, layers);
  auto reader = ConfigReader::Parse(config, "config.json");
  Check(reader.ok(), reader.status().message());
  const auto architecture =
      ReadArchitecture(*reader, [](absl::string_view) { return false; });
  Check(architecture.ok(), architecture.status().message());
  MadeTensors tensors;
  Dice dice(7);
  ForEachSource(*architecture, [&](const WeightSource& source) {
    if (source.present() && tensors.count(source.tensor) == 0)
      tensors[source.tensor] = RandomTensor(source, dice);
  });
  auto folder = std::make_unique<TestFolder>();
  folder->Write("config.json", config);
  folder->Write("model.safetensors", SafetensorsFile(tensors));
  return folder;
}

}  // namespace banyan
