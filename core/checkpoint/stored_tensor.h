// A tensor as a file stores it: the type of its elements, its shape and its
// bytes.
#ifndef BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_
#define BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/dtype.h"
#include "core/base/mapped_file.h"
#include "core/pack/pack_file.h"

namespace banyan {

// The type that safetensors files name so. An unknown name is InvalidArgument,
// with the known ones.
absl::StatusOr<DType> DTypeNamed(absl::string_view name);

class PackedData;

// Rows [first, first + rows) of a tensor are rows of a packed matrix, from its
// row `at` on.
struct PackedRows {
  int first = 0;
  int rows = 0;
  const PackMatrix* matrix = nullptr;
  const PackedData* data = nullptr;
  int at = 0;

  // The panel with a row of the tensor; fails as PackedData::Panel.
  absl::StatusOr<const std::byte*> Panel(int row) const;
};

struct StoredTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;   // row-major; empty: one number
  absl::Span<const std::byte> data;  // little-endian, aligned to nothing
  // Of a GGUF file's tensor, which another program may have moved: its name
  // there; the rows of a head, if they stand in pairs, 2i being row i and
  // 2i + 1 row i + half of them; and whether the data are those of `shape` with
  // rows and columns exchanged.
  std::string name_in_file = {};
  int paired_rows = 0;
  bool turned = false;
  // Of a packed matrix, which has no `data` of its own.
  std::vector<PackedRows> packed = {};
  // What `data` is a part of; null for memory of the program's own.
  const MappedFile* file = nullptr;

  // To be called once `data` was read: DataLoss if the file was cut meanwhile,
  // so that zeros were read (MappedFile::CheckLength).
  absl::Status CheckWhole() const {
    return file == nullptr ? absl::OkStatus() : file->CheckLength();
  }
};

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

// "[2, 3]".
std::string ShapeText(absl::Span<const std::int64_t> shape);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_
