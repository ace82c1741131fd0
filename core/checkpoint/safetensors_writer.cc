#include "core/checkpoint/safetensors_writer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/dtype.h"
#include "core/base/output_file.h"
#include "core/base/status_macros.h"
#include "core/json/json_value.h"

namespace banyan {
namespace {

// Where the numbers begin: the format leaves it to the writer, and numbers of
// eight bytes are then aligned in a mapped file.
constexpr std::size_t kAlignment = 8;

// Its text begins with `{` and ends with spaces.
std::string Header(const std::vector<TensorEntry>& tensors) {
  JsonValue header;
  header["__metadata__"] = {{"format", "pt"}};  // other readers insist on it
  std::int64_t end = 0;
  for (const TensorEntry& tensor : tensors) {
    JsonValue& entry = header[tensor.name];
    Check(entry.is_null(), "the names differ");
    const std::int64_t begin = end;
    end += tensor.bytes();
    entry = {{"dtype", DTypeName(tensor.dtype)},
             {"shape", tensor.shape},
             {"data_offsets", std::vector<std::int64_t>{begin, end}}};
  }
  std::string text = header.Text();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

std::int64_t TensorEntry::bytes() const {
  std::int64_t total = DTypeBytes(dtype);
  for (std::int64_t size : shape) total *= size;
  return total;
}

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, const std::vector<TensorEntry>& tensors) {
  const std::string text = Header(tensors);
  std::int64_t bytes = 0;
  for (const TensorEntry& tensor : tensors) bytes += tensor.bytes();
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                          OutputFile::Open(path));
  std::array<std::byte, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::byte>(text.size() >> 8 * i);
  BANYAN_RETURN_IF_ERROR(file->Append(length));
  BANYAN_RETURN_IF_ERROR(file->Append(text));
  return absl::WrapUnique(new SafetensorsWriter(std::move(file), bytes));
}

absl::Status SafetensorsWriter::Append(absl::Span<const std::byte> bytes) {
  Check(bytes.size() <= static_cast<std::size_t>(left_),
        "no more bytes than the header says");
  left_ -= static_cast<std::int64_t>(bytes.size());
  return file_->Append(bytes);
}

absl::Status SafetensorsWriter::Finish() {
  Check(left_ == 0, "all bytes have been appended");
  return file_->Finish();
}

}  // namespace banyan
