#include "experiments/makers/convert_model.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/gguf/model_text.h"
#include "experiments/makers/grow/tensor_plan.h"

namespace banyan {
namespace {

constexpr std::size_t kMostConvertedText = std::size_t{1} << 28;
constexpr int kRows = 1024;  // at a time

struct WrittenTensor {
  TensorEntry entry;
  const StoredTensor* stored;
};

absl::StatusOr<std::vector<WrittenTensor>> PlanTensors(
    const Checkpoint& checkpoint, std::optional<DType> matrices) {
  std::vector<WrittenTensor> all;
  for (const std::string& name : checkpoint.tensor_names()) {
    const StoredTensor& stored = *checkpoint.Find(name);
    const std::vector<std::int64_t>& shape = stored.shape;
    if (shape.empty() || shape.size() > 2 ||
        std::any_of(shape.begin(), shape.end(), [](std::int64_t size) {
          return size > std::numeric_limits<int>::max();
        }))
      return absl::InvalidArgumentError(absl::StrCat(
          checkpoint.directory(), ": tensor ", QuotedName(name),
          ": expected a vector or a matrix, found shape ", ShapeText(shape)));
    const DType plain =
        DTypeBlock(stored.dtype) > 1 ? DType::kF32 : stored.dtype;
    all.push_back(
        {{.name = name,
          .dtype = shape.size() == 2 ? matrices.value_or(plain) : plain,
          .shape = shape},
         &stored});
  }
  return all;
}

// Rounds to the nearest, ties to the even one.
float AsBf16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  return std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1)) &
                              0xffff0000U);
}

absl::Status Append(const std::vector<float>& numbers, DType dtype,
                    SafetensorsWriter& file) {
  const auto size = static_cast<std::size_t>(DTypeBytes(dtype));
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    StoreExactly(dtype == DType::kBf16 ? AsBf16(numbers[i]) : numbers[i], dtype,
                 &bytes[i * size]);
  return file.Append(bytes);
}

WeightSource SourceOf(const WrittenTensor& tensor, bool transposed) {
  const std::vector<std::int64_t>& shape = tensor.entry.shape;
  const auto first = static_cast<int>(shape.front());
  const int second = shape.size() == 2 ? static_cast<int>(shape.back()) : 1;
  return {.tensor = tensor.entry.name,
          .stored_shape = shape,
          .rows = transposed ? second : first,
          .columns = transposed ? first : second,
          .transposed = transposed};
}

// A matrix whose file has rows and columns exchanged is read whole, as it
// stands there.
absl::Status WriteTurned(const Checkpoint& checkpoint,
                         const WrittenTensor& tensor, SafetensorsWriter& file) {
  const WeightSource source = SourceOf(tensor, /*transposed=*/true);
  const auto rows = static_cast<std::size_t>(source.rows);
  const auto columns = static_cast<std::size_t>(source.columns);
  std::vector<float> read(rows * columns);
  BANYAN_RETURN_IF_ERROR(
      checkpoint.ReadRows(source, {0, source.rows}, absl::MakeSpan(read)));
  std::vector<float> turned(read.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      turned[column * rows + row] = read[row * columns + column];
  return Append(turned, tensor.entry.dtype, file);
}

absl::Status WriteTensor(const Checkpoint& checkpoint,
                         const WrittenTensor& tensor, SafetensorsWriter& file) {
  if (tensor.stored->turned) return WriteTurned(checkpoint, tensor, file);
  const WeightSource source = SourceOf(tensor, /*transposed=*/false);
  std::vector<float> numbers;
  for (int first = 0; first < source.rows; first += kRows) {
    const int count = std::min(kRows, source.rows - first);
    numbers.resize(static_cast<std::size_t>(count) *
                   static_cast<std::size_t>(source.columns));
    BANYAN_RETURN_IF_ERROR(
        checkpoint.ReadRows(source, {first, count}, absl::MakeSpan(numbers)));
    BANYAN_RETURN_IF_ERROR(Append(numbers, tensor.entry.dtype, file));
  }
  return absl::OkStatus();
}

// config.json last: a folder without it is no model.
absl::Status WriteTexts(const Checkpoint& checkpoint, OutputFolder& folder) {
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
        "chat_template.jinja", "config.json"}) {
    const absl::StatusOr<std::string> text =
        ReadModelText(checkpoint.directory(), name, kMostConvertedText);
    if (absl::IsNotFound(text.status())) continue;
    BANYAN_RETURN_IF_ERROR(text.status());
    BANYAN_RETURN_IF_ERROR(folder.Write(name, *text));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ConvertedModel> ConvertModel(const Checkpoint& checkpoint,
                                            std::optional<DType> matrices,
                                            OutputFolder& folder,
                                            ConvertProgress progress) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<WrittenTensor> tensors,
                          PlanTensors(checkpoint, matrices));
  ConvertedModel done = {
      .source_format = checkpoint.architecture().source_format,
      .tensors = static_cast<std::int64_t>(tensors.size())};
  std::vector<TensorEntry> entries;
  for (const WrittenTensor& tensor : tensors) {
    entries.push_back(tensor.entry);
    done.bytes += tensor.entry.bytes();
    done.parameters += tensor.entry.bytes() / DTypeBytes(tensor.entry.dtype);
  }
  BANYAN_RETURN_IF_ERROR(folder.RequireSpace(done.bytes));
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<SafetensorsWriter> file,
      SafetensorsWriter::Create(folder.File("model.safetensors"), entries));
  std::int64_t written = 0;
  for (const WrittenTensor& tensor : tensors) {
    BANYAN_RETURN_IF_ERROR(WriteTensor(checkpoint, tensor, *file));
    checkpoint.Release({.tensor = tensor.entry.name});
    written += tensor.entry.bytes();
    progress(written, done.bytes);
  }
  BANYAN_RETURN_IF_ERROR(file->Finish());
  BANYAN_RETURN_IF_ERROR(WriteTexts(checkpoint, folder));
  return done;
}

}  // namespace banyan
