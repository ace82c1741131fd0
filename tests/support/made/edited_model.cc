#include "tests/support/made/edited_model.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <filesystem>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"

namespace banyan {
namespace {

MadeTensors ReadTensors(const std::string& path) {
  const auto file = TensorFile::Open(path);
  Check(file.ok(), file.status().message());
  MadeTensors tensors;
  for (const auto& [name, stored] : (*file)->tensors())
    tensors[name] = {std::string(DTypeName(stored.dtype)),
                     stored.shape,
                     {reinterpret_cast<const char*>(stored.data.data()),
                      stored.data.size()}};
  return tensors;
}

// The 16 bits of this type that mean `value`, found among all there are.
std::uint16_t HalfOf(float value, float (*meaning)(std::uint16_t)) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float found = meaning(static_cast<std::uint16_t>(bits));
    const bool is_it = std::isnan(value)
                           ? std::isnan(found)
                           : std::bit_cast<std::uint32_t>(found) ==
                                 std::bit_cast<std::uint32_t>(value);
    if (is_it) return static_cast<std::uint16_t>(bits);
  }
  Check(false, "the type holds the number");
  return 0;
}

}  // namespace

EditedModel::EditedModel(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name == "logits.safetensors") continue;
    constexpr std::size_t kMost = std::size_t{1} << 24;
    const auto text = ReadFile(entry.path().string(), kMost);
    Check(text.ok(), text.status().message());
    folder_.Write(name, *text);
    if (absl::EndsWith(name, ".safetensors"))
      files_[name] = ReadTensors(entry.path().string());
  }
}

void EditedModel::Write(const std::string& file) const {
  folder_.Write(file, SafetensorsFile(files_.at(file)));
}

std::int64_t CountOf(const MadeTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= size;
  return count;
}

void SetNumber(MadeTensor& tensor, std::int64_t at, float value) {
  Check(at >= 0 && at < CountOf(tensor), "the number exists");
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::size_t size = 4;
  if (tensor.dtype != "F32") {
    size = 2;
    bits = HalfOf(value, tensor.dtype == "F16" ? FloatFromF16 : FloatFromBf16);
  }
  for (std::size_t byte = 0; byte < size; ++byte)
    tensor.data[static_cast<std::size_t>(at) * size + byte] =
        static_cast<char>(bits >> 8 * byte & 0xff);
}

}  // namespace banyan
