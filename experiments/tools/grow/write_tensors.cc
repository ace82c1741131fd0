#include "experiments/tools/grow/write_tensors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "core/base/dtype.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/json/json_value.h"
#include "experiments/tools/grow/output_folder.h"
#include "experiments/tools/grow/tensor_plan.h"

namespace banyan {
namespace {

// Rows are filled until they have this many bytes: few calls to the system,
// and all of them in a near cache.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 18;

using Shard = absl::Span<const GrownTensor>;

// Tensors in order; a file begins where the one before would get too large.
std::vector<Shard> Cut(Shard tensors, std::int64_t shard_bytes) {
  std::vector<Shard> shards;
  std::size_t first = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t more = tensors[i].entry().bytes();
    if (i > first && bytes + more > shard_bytes) {
      shards.push_back(tensors.subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += more;
  }
  shards.push_back(tensors.subspan(first));
  return shards;
}

absl::Status WriteTensor(const GrownTensor& tensor, std::uint64_t seed,
                         SafetensorsWriter& file) {
  const std::int64_t row_bytes = DTypeBytes(tensor.dtype) * tensor.columns.size;
  const int rows =
      static_cast<int>(std::max(std::int64_t{1}, kBlockBytes / row_bytes));
  std::vector<std::byte> block;
  for (int first = 0; first < tensor.rows.size; first += rows) {
    const int count = std::min(rows, tensor.rows.size - first);
    block.resize(static_cast<std::size_t>(count * row_bytes));
    BANYAN_RETURN_IF_ERROR(
        FillRows(tensor, seed, first, count, absl::MakeSpan(block)));
    BANYAN_RETURN_IF_ERROR(file.Append(block));
  }
  return absl::OkStatus();
}

absl::Status WriteIndex(const std::vector<Shard>& shards,
                        const std::vector<std::string>& names,
                        OutputFolder& folder) {
  JsonValue index;
  std::int64_t bytes = 0;
  for (const Shard& shard : shards) bytes += TotalBytes(shard);
  index["metadata"]["total_size"] = bytes;
  for (std::size_t i = 0; i < shards.size(); ++i)
    for (const GrownTensor& tensor : shards[i])
      index["weight_map"][tensor.name] = names[i];
  return folder.Write("model.safetensors.index.json", index.Text(2) + "\n");
}

}  // namespace

std::int64_t TotalBytes(absl::Span<const GrownTensor> tensors) {
  std::int64_t bytes = 0;
  for (const GrownTensor& tensor : tensors) bytes += tensor.entry().bytes();
  return bytes;
}

std::int64_t TotalNumbers(absl::Span<const GrownTensor> tensors) {
  std::int64_t numbers = 0;
  for (const GrownTensor& tensor : tensors) numbers += tensor.numbers();
  return numbers;
}

absl::Status WriteTensors(const std::vector<GrownTensor>& tensors,
                          const WriteOptions& options, OutputFolder& folder,
                          absl::FunctionRef<void(const GrownTensor&)> done) {
  const std::vector<Shard> shards = Cut(tensors, options.shard_bytes);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    names.push_back(shards.size() == 1
                        ? "model.safetensors"
                        : absl::StrFormat("model-%05d-of-%05d.safetensors",
                                          i + 1, shards.size()));
    std::vector<TensorEntry> entries;
    for (const GrownTensor& tensor : shards[i])
      entries.push_back(tensor.entry());
    BANYAN_ASSIGN_OR_RETURN(
        const std::unique_ptr<SafetensorsWriter> file,
        SafetensorsWriter::Create(folder.File(names.back()), entries));
    for (const GrownTensor& tensor : shards[i]) {
      BANYAN_RETURN_IF_ERROR(WriteTensor(tensor, options.seed, *file));
      done(tensor);
    }
    BANYAN_RETURN_IF_ERROR(file->Finish());
  }
  if (shards.size() == 1) return absl::OkStatus();
  return WriteIndex(shards, names, folder);
}

}  // namespace banyan
