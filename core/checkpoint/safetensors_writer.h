// Writing a safetensors file, a piece at a time: the file may be larger than
// the memory.
//
//   BANYAN_ASSIGN_OR_RETURN(auto file, SafetensorsWriter::Create(path,
//   tensors)); BANYAN_RETURN_IF_ERROR(file->Append(bytes));  // again and again
//   BANYAN_RETURN_IF_ERROR(file->Finish());
//
// PATH is as it was until Finish(), and stays so where that is not called
// (core/base/output_file.h).
#ifndef BANYAN_CORE_CHECKPOINT_SAFETENSORS_WRITER_H_
#define BANYAN_CORE_CHECKPOINT_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/dtype.h"
#include "core/base/output_file.h"

namespace banyan {

struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;

  // Of all its numbers. Requires that the count fits.
  std::int64_t bytes() const;
};

class SafetensorsWriter {
 public:
  // Writes the header of `tensors`, whose names differ. Fails with
  // InvalidArgument if the file cannot be made.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(
      const std::string& path, const std::vector<TensorEntry>& tensors);

  // The next bytes: the tensors' in the order of Create, little-endian, no more
  // than are left. Internal if they cannot be written (the disk is full).
  absl::Status Append(absl::Span<const std::byte> bytes);

  // All bytes have been appended. Fails as Append.
  absl::Status Finish();

 private:
  SafetensorsWriter(std::unique_ptr<OutputFile> file, std::int64_t left)
      : file_(std::move(file)), left_(left) {}

  std::unique_ptr<OutputFile> file_;
  std::int64_t left_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_SAFETENSORS_WRITER_H_
