#include "tests/core/checkpoint/files.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/base/check.h"
#include "core/base/input_files.h"
#include "gtest/gtest.h"

namespace banyan {

TestFolder::TestFolder() : path_(testing::TempDir() + "/checkpoint_XXXXXX") {
  Check(mkdtemp(path_.data()) != nullptr, "a folder can be made");
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TestFolder::Write(absl::string_view name,
                              absl::string_view text) const {
  const std::string path = absl::StrCat(path_, "/", name);
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  Check(file.good(), "the file can be written");
  return path;
}

std::string TestFolder::Read(absl::string_view name) const {
  return ReadFile(absl::StrCat(path_, "/", name), std::size_t{1} << 24).value();
}

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()),
                             text.size());
}

std::string SafetensorsFile(absl::string_view header, absl::string_view data) {
  std::string length;
  for (int i = 0; i < 8; ++i)
    length.push_back(static_cast<char>(header.size() >> 8 * i & 0xff));
  return absl::StrCat(length, header, data);
}

std::string SafetensorsFile(const MadeTensors& tensors) {
  std::vector<std::string> entries;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    data += tensor.data;
    entries.push_back(
        absl::StrCat("\"", name, "\":{\"dtype\":\"", tensor.dtype,
                     "\",\"shape\":[", absl::StrJoin(tensor.shape, ","),
                     "],\"data_offsets\":[", begin, ",", data.size(), "]}"));
  }
  return SafetensorsFile(absl::StrCat("{", absl::StrJoin(entries, ","), "}"),
                         data);
}

std::string Stored(const std::vector<float>& numbers) {
  std::string data(numbers.size() * sizeof(float), '\0');
  if (!data.empty()) std::memcpy(data.data(), numbers.data(), data.size());
  return data;
}

std::string SmallConfig() {
  return R"({"model_type": "llama", "vocab_size": 5, "hidden_size": 4,
             "intermediate_size": 6, "num_hidden_layers": 1,
             "num_attention_heads": 2, "num_key_value_heads": 1,
             "max_position_embeddings": 16, "eos_token_id": 2})";
}

MadeTensors SmallTensors() {
  const std::string layer = "model.layers.0.";
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes =
      {{"model.embed_tokens.weight", {5, 4}},
       {layer + "input_layernorm.weight", {4}},
       {layer + "self_attn.q_proj.weight", {4, 4}},
       {layer + "self_attn.k_proj.weight", {2, 4}},
       {layer + "self_attn.v_proj.weight", {2, 4}},
       {layer + "self_attn.o_proj.weight", {4, 4}},
       {layer + "post_attention_layernorm.weight", {4}},
       {layer + "mlp.gate_proj.weight", {6, 4}},
       {layer + "mlp.up_proj.weight", {6, 4}},
       {layer + "mlp.down_proj.weight", {4, 6}},
       {"model.norm.weight", {4}},
       {"lm_head.weight", {5, 4}}};
  MadeTensors tensors;
  float next = 1;
  for (const auto& [name, shape] : shapes) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(next++);
    tensors[name] = {"F32", shape, Stored(numbers)};
  }
  return tensors;
}

}  // namespace banyan
