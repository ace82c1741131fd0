// A packed model: one file with its configuration, its tokenizer and its
// weights as kernels read them, in the order of a pass.
//
//   "BANYANPK", version, checksum and size of the header (little-endian)
//   the header, JSON
//   extents, each at a multiple of 4096 bytes and with a checksum of its own
//
// docs/formats.md has the header's keys. Matrices are in panels
// (core/base/number_rows.h), an extent being a number of whole panels; vectors
// are 32-bit floats. `banyan pack` writes such files.
#ifndef BANYAN_CORE_PACK_PACK_FILE_H_
#define BANYAN_CORE_PACK_PACK_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"

namespace banyan {

// Offsets count from the first extent on: PackHeader::data_begin.
inline constexpr std::size_t kPackAlignment = 4096;
constexpr std::uint64_t PackAligned(std::uint64_t bytes) {
  return (bytes + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
}
// The most that an extent has, unless a single panel has more: the best size of
// a read from disk.
inline constexpr std::size_t kPackExtent = std::size_t{1} << 20;

// Rows [first, first + rows) of a tensor.
struct PackPart {
  std::string tensor;
  int first = 0;
  int rows = 0;
};

// One matrix: parts of tensors, one below the other.
struct PackMatrix {
  std::vector<PackPart> parts;
  WeightFormat format = WeightFormat::kF32;
  int rows = 0;
  int columns = 0;
  std::uint64_t offset = 0;              // of its first extent
  std::size_t panels = 0;                // in an extent but the last
  std::vector<std::uint32_t> checksums;  // by extent

  std::size_t extents() const;
  std::size_t ExtentBytes(std::size_t extent) const;
  std::uint64_t ExtentOffset(std::size_t extent) const;
  // Where its last extent ends.
  std::uint64_t end() const;
};

// The panels in an extent of such a matrix: as many as kPackExtent takes, in
// whole multiples of kPackAlignment where that is possible.
std::size_t PanelsInExtent(WeightFormat format, int columns);

// A whole tensor as 32-bit floats.
struct PackVector {
  std::string tensor;
  std::uint64_t offset = 0;
  std::uint64_t numbers = 0;
  std::uint32_t checksum = 0;

  std::uint64_t end() const { return offset + numbers * sizeof(float); }
};

// Of a tensor as its model's family has it.
struct PackTensor {
  std::vector<std::int64_t> shape;
  bool turned = false;  // matrices have its columns as rows
};

struct PackHeader {
  WeightFormat format = WeightFormat::kF32;  // of the matrices in a pass
  std::string source;                        // fingerprint of the model's files
  std::string source_format;                 // Architecture::source_format
  std::map<std::string, std::string> texts;  // by the file's name
  std::map<std::string, PackTensor> tensors;
  std::vector<PackVector> vectors;
  std::vector<PackMatrix> matrices;  // in the order of a pass
  std::uint64_t data_begin = 0;      // of the file; follows from the rest
};

// The file's bytes before its first extent. Their number does not depend on the
// checksums, and rounded up to kPackAlignment it is data_begin.
std::string PackPreamble(const PackHeader& header);

// The header of a whole file that lies in memory. InvalidArgument, "FILE_NAME:
// what is wrong", for another format or version, a header that is damaged,
// extents beyond the file or out of order, and tensors that the vectors and
// matrices do not hold whole, each number once.
absl::StatusOr<PackHeader> ParsePack(absl::Span<const std::byte> file,
                                     const std::string& file_name);
// The header alone, of a file on disk; NotFound if there is none.
absl::StatusOr<PackHeader> ReadPackHeader(const std::string& path);

// Whether a model's path names such a file: by its ending, ".pack".
bool IsPack(absl::string_view path);

// Whether a packed model's header agrees with itself about its tensors.

// InvalidArgument, "tensor 'NAME': expected ..., found ...", unless every
// tensor is one whole vector, or a matrix each of whose rows is in one packed
// matrix once.
absl::Status CheckTensors(const PackHeader& header);

}  // namespace banyan

#endif  // BANYAN_CORE_PACK_PACK_FILE_H_
