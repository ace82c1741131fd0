// The weights of a packed model's file (core/pack/pack_file.h), mapped into
// memory. All reads of a pack's weights from memory go through PackedData,
// which compares each extent with its checksum.
#ifndef BANYAN_CORE_CHECKPOINT_PACKED_DATA_H_
#define BANYAN_CORE_CHECKPOINT_PACKED_DATA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mapped_file.h"
#include "core/pack/pack_file.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_PACKED_DATA_H_
