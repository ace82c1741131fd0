// Reads and writes safetensors files.
#ifndef BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_
#define BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/base/output_files.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/json/json_reader.h"

namespace banyan {

// What a safetensors file holds.
//
// The file: eight bytes, the little-endian length of the header; the header, a
// JSON object that gives each tensor's `dtype`, `shape` and `data_offsets`;
// then the tensors' bytes. Opening reads the header only. Refused are: a header
// longer than the file or than 100,000,000 bytes, a repeated name or field, an
// unknown dtype or field, offsets that disagree with the shape, holes,
// overlaps, and bytes that belong to no tensor. The file's writer chooses
// where the bytes begin, so that no tensor is aligned: copy, do not cast.

// The tensors of a whole file that lies in memory; their data points into
// `file`. An error is InvalidArgument, "FILE_NAME: tensor 'x': what is wrong".
absl::StatusOr<StoredTensors> ParseSafetensors(absl::Span<const std::byte> file,
                                               const std::string& file_name);

// The header of a safetensors file: the JSON object before the bytes.

// Reads the header without a tree of it. It nests no deeper than three levels.
// An error is "tensor 'x': what is wrong".
class SafetensorsHeader : public JsonEvents {
 public:
  struct Entry {
    DType dtype = DType::kF32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> offsets;
  };

  // The header's text must outlive this.
  explicit SafetensorsHeader(absl::string_view text)
      : reader_(text, "header") {}

  // Reads the whole text. Once.
  absl::Status Read() { return reader_.Read(*this); }
  const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

  absl::Status OnScalar(JsonScalar value) override;
  absl::Status OnKey(std::string key) override;
  absl::Status OnList() override;
  absl::Status OnListEnd() override;
  absl::Status OnObject() override;
  absl::Status OnObjectEnd() override;

 private:
  // What the next value is a part of.
  enum class Inside { kFile, kHeader, kTensor, kNumbers, kMetadata };

  absl::Status Error(absl::string_view what) const;
  absl::Status Unexpected(absl::string_view found) const;
  std::string Place() const;

  JsonReader reader_;
  Inside inside_ = Inside::kFile;
  std::map<std::string, Entry, std::less<>> entries_;
  std::string name_;        // of the tensor being read
  std::string field_;       // the last one read of it, or of the metadata
  int fields_ = 0;          // how many
  Entry* entry_ = nullptr;  // the tensor being read, in entries_
  std::vector<std::int64_t>* numbers_ = nullptr;  // the list being read
};

// Writing a safetensors file, a piece at a time: the file may be larger than
// the memory.
//
//   BANYAN_ASSIGN_OR_RETURN(auto file, SafetensorsWriter::Create(path,
//   tensors)); BANYAN_RETURN_IF_ERROR(file->Append(bytes));  // again and again
//   BANYAN_RETURN_IF_ERROR(file->Finish());
//
// PATH is as it was until Finish(), and stays so where that is not called
// (core/base/output_files.h).
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

#endif  // BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_
