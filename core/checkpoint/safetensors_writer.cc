#include "core/checkpoint/safetensors_writer.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/json/json_value.h"

namespace banyan {
namespace {

// Where the numbers begin: the format leaves it to the writer, and numbers of
// eight bytes are then aligned in a mapped file.
constexpr std::size_t kAlignment = 8;

std::string Reason(const std::string& path, int code) {
  return absl::StrCat(path, ": ", std::generic_category().message(code));
}

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
  std::FILE* file = std::fopen(absl::StrCat(path, ".partial").c_str(), "wbe");
  if (file == nullptr) return absl::InvalidArgumentError(Reason(path, errno));
  auto writer = absl::WrapUnique(new SafetensorsWriter(path, file, bytes));
  std::array<unsigned char, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<unsigned char>(text.size() >> 8 * i);
  BANYAN_RETURN_IF_ERROR(writer->Write(length.data(), length.size()));
  BANYAN_RETURN_IF_ERROR(writer->Write(text.data(), text.size()));
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(PartialPath().c_str());
}

absl::Status SafetensorsWriter::Write(const void* from, std::size_t size) {
  // No bytes may come from nowhere, which fwrite does not allow.
  if (size == 0 || std::fwrite(from, 1, size, file_) == size)
    return absl::OkStatus();
  return absl::InternalError(Reason(path_, errno));
}

absl::Status SafetensorsWriter::Append(absl::Span<const std::byte> bytes) {
  Check(file_ != nullptr && bytes.size() <= static_cast<std::size_t>(left_),
        "no more bytes than the header says");
  left_ -= static_cast<std::int64_t>(bytes.size());
  return Write(bytes.data(), bytes.size());
}

absl::Status SafetensorsWriter::Finish() {
  Check(file_ != nullptr && left_ == 0, "all bytes have been appended");
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  const std::string partial = PartialPath();
  if (closed && std::rename(partial.c_str(), path_.c_str()) == 0)
    return absl::OkStatus();
  const int code = errno;
  std::remove(partial.c_str());
  return absl::InternalError(Reason(path_, code));
}

}  // namespace banyan
