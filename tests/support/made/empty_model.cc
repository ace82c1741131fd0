#include "tests/support/made/empty_model.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/safetensors.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kLayers = 30, kHidden = 576, kKeys = 3 * 64, kFeedForward = 1536,
              kVocabulary = 49152;

std::vector<TensorEntry> Tensors() {
  std::vector<TensorEntry> tensors;
  const auto add = [&](const std::string& name,
                       const std::vector<std::int64_t>& shape) {
    tensors.push_back(
        {absl::StrCat("model.", name, ".weight"), DType::kBf16, shape});
  };
  add("embed_tokens", {kVocabulary, kHidden});
  add("norm", {kHidden});
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = absl::StrCat("layers.", i, ".");
    add(layer + "input_layernorm", {kHidden});
    add(layer + "post_attention_layernorm", {kHidden});
    add(layer + "self_attn.q_proj", {kHidden, kHidden});
    add(layer + "self_attn.k_proj", {kKeys, kHidden});
    add(layer + "self_attn.v_proj", {kKeys, kHidden});
    add(layer + "self_attn.o_proj", {kHidden, kHidden});
    add(layer + "mlp.gate_proj", {kFeedForward, kHidden});
    add(layer + "mlp.up_proj", {kFeedForward, kHidden});
    add(layer + "mlp.down_proj", {kHidden, kFeedForward});
  }
  return tensors;
}

void WriteZeros(const std::string& path) {
  json header;
  std::int64_t end = 0;
  for (const TensorEntry& tensor : Tensors()) {
    const std::int64_t begin = end;
    end += tensor.bytes();
    header[tensor.name] = {{"dtype", "BF16"},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, end}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length) << text;
  file.close();
  Check(file.good(), "the header is written");
  fs::resize_file(path, sizeof length + length + end);
}

}  // namespace

void MakeEmptySmolLm2(const std::string& folder) {
  fs::create_directories(folder);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
    fs::copy_file(absl::StrCat("models/smollm2-draft-1/", name),
                  absl::StrCat(folder, "/", name));
  std::ofstream(folder + "/config.json")
      << json{{"architectures", {"LlamaForCausalLM"}},
              {"model_type", "llama"},
              {"hidden_size", kHidden},
              {"num_hidden_layers", kLayers},
              {"num_attention_heads", 9},
              {"num_key_value_heads", 3},
              {"intermediate_size", kFeedForward},
              {"vocab_size", kVocabulary},
              {"max_position_embeddings", 8192},
              {"rope_theta", 100000},
              {"rms_norm_eps", 1e-5},
              {"hidden_act", "silu"},
              {"tie_word_embeddings", true},
              {"bos_token_id", 1},
              {"eos_token_id", 2},
              {"torch_dtype", "bfloat16"}};
  WriteZeros(folder + "/model.safetensors");
}

}  // namespace banyan
