// Tensors as files store them, and the file of a packed model that holds some.
#ifndef BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_
#define BANYAN_CORE_CHECKPOINT_STORED_TENSOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/number_rows.h"
#include "core/pack/pack_file.h"

namespace banyan {

// The weights of a packed model's file (core/pack/pack_file.h), mapped into
// memory. All reads of a pack's weights from memory go through PackedData,
// which compares each extent with its checksum.

// DataLoss, "PATH: tensor 'NAME': ...", if numbers of an extent are not finite.
// `panels` are its bytes, which begin at `offset` of the file.
absl::Status CheckPanels(const std::string& path, const PackMatrix& matrix,
                         std::uint64_t offset,
                         absl::Span<const std::byte> panels);

// Any number of threads may use one at once. Vectors and matrices are those of
// the header. Fails with DataLoss, "path: tensor 'NAME': ...", if bytes do not
// have their checksum, or are numbers that are not finite.
class PackedData {
 public:
  // `file` outlives this.
  PackedData(PackHeader header, const MappedFile& file);

  const PackHeader& header() const { return header_; }
  absl::StatusOr<absl::Span<const std::byte>> Vector(
      const PackVector& vector) const;
  // A panel, which lives as long as the file. Its extent is checked the first
  // time that one of its panels is asked for.
  absl::StatusOr<const std::byte*> Panel(const PackMatrix& matrix,
                                         std::size_t panel) const;
  // Writes all panels to `to`, and gives the memory of the file back as it
  // goes.
  absl::Status ReadPanels(const PackMatrix& matrix,
                          absl::Span<std::byte> to) const;
  // Gives back the memory of the file that holds the matrix.
  void Release(const PackMatrix& matrix) const;

 private:
  absl::Span<const std::byte> Extent(const PackMatrix& matrix,
                                     std::size_t extent) const;
  absl::Status CheckSum(absl::Span<const std::byte> bytes,
                        std::uint32_t checksum,
                        const std::string& tensor) const;
  absl::Status CheckExtent(const PackMatrix& matrix, std::size_t extent) const;

  PackHeader header_;
  const MappedFile& file_;
  std::vector<std::size_t> first_;  // by matrix: extents of those before it
  // By extent. Two threads may check one at once, with the same result.
  mutable std::vector<std::atomic<bool>> checked_;
};

// A tensor as a file stores it: the type of its elements, its shape and its
// bytes.

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
