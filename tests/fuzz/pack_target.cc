// The header of a packed model, as the JSON it is. The target puts the right
// preamble before it and data after it, in a file that it opens. Checksums of
// the data are made right, so that a header that was changed is not refused for
// these alone; after that one of them is made wrong.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "core/pack/pack_file.h"
#include "core/transformer/weight_stream.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"

namespace banyan {
namespace {

constexpr char kFile[] = "corpus";

// Room for the models of the corpus. Up to kFinite every number that begins at
// any byte is finite; after it none is.
constexpr std::size_t kData = 24 * kPackAlignment;
constexpr std::size_t kFinite = kData - kPackAlignment;

std::string MadeData() {
  std::string data(kData, '\xff');
  for (std::size_t i = 0; i < kFinite; ++i)
    data[i] = static_cast<char>(i * i % 61);
  return data;
}

// The whole file: what comes before the first extent, and the data.
std::string WithData(std::string preamble, absl::string_view data) {
  preamble.resize(static_cast<std::size_t>(PackAligned(preamble.size())));
  return absl::StrCat(preamble, data);
}

std::string PreambleOf(absl::string_view header) {
  constexpr std::size_t kMagicAndVersion = 12;
  ByteWriter writer;
  writer.Put(Crc32(BytesOf(header)));
  writer.Put(static_cast<std::uint32_t>(header.size()));
  writer.Put(std::uint32_t{0});  // the size has eight bytes
  return absl::StrCat(PackPreamble({}).substr(0, kMagicAndVersion),
                      writer.Take(), header);
}

void MakeChecksumsRight(absl::string_view data, PackHeader& header) {
  const auto sum = [data](std::uint64_t offset, std::uint64_t bytes) {
    return Crc32(BytesOf(data.substr(static_cast<std::size_t>(offset),
                                     static_cast<std::size_t>(bytes))));
  };
  for (PackVector& vector : header.vectors)
    vector.checksum = sum(vector.offset, vector.end() - vector.offset);
  for (PackMatrix& matrix : header.matrices)
    for (std::size_t i = 0; i < matrix.extents(); ++i)
      matrix.checksums[i] = sum(matrix.ExtentOffset(i), matrix.ExtentBytes(i));
}

// Reads all that a model would, in each of the ways that there are.
absl::Status ReadWhole(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::Open(path));
  absl::Status status = checkpoint->CheckTied();
  ForEachSource(checkpoint->architecture(), [&](const WeightSource& source) {
    std::vector<float> rows(static_cast<std::size_t>(source.rows) *
                            static_cast<std::size_t>(source.columns));
    const absl::Status read =
        checkpoint->ReadRows(source, {0, source.rows}, absl::MakeSpan(rows));
    Check(!read.ok() || std::all_of(rows.begin(), rows.end(),
                                    [](float x) { return std::isfinite(x); }),
          "what is read is finite");
    status.Update(read);
    checkpoint->Release(source);
  });
  for (const PackMatrix& matrix : checkpoint->pack()->matrices) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < matrix.extents(); ++i)
      bytes += matrix.ExtentBytes(i);
    std::vector<std::byte> panels(bytes);
    status.Update(checkpoint->ReadPanels(matrix, absl::MakeSpan(panels)));
  }
  Check(WeightStream::LeastMemory(*checkpoint) > 0, "a pass takes memory");
  return status;
}

absl::Status ReadWhole(const PackHeader& header, absl::string_view data) {
  const ScratchFile file(".pack", WithData(PackPreamble(header), data));
  const absl::Status status = ReadWhole(file.path());
  if (status.ok()) return status;
  Check(absl::StartsWith(status.message(), file.path()),
        "the message begins with the file");
  return absl::Status(
      status.code(),
      absl::StrCat(kFile, status.message().substr(file.path().size())));
}

// A checksum of the header, whichever its size says.
std::uint32_t& SomeChecksum(PackHeader& header, std::size_t seed) {
  const std::size_t vectors = header.vectors.size();
  const std::size_t i = seed % (vectors + header.matrices.size());
  if (i < vectors) return header.vectors[i].checksum;
  std::vector<std::uint32_t>& sums = header.matrices[i - vectors].checksums;
  return sums[seed % sums.size()];
}

}  // namespace

absl::Status FuzzPack(absl::string_view text) {
  static const std::string data = MadeData();
  const std::string file = WithData(PreambleOf(text), data);
  absl::StatusOr<PackHeader> header = ParsePack(BytesOf(file), kFile);
  if (!header.ok()) {
    CheckMessage(header.status());
    return header.status();
  }
  MakeChecksumsRight(data, *header);
  const std::string written = WithData(PackPreamble(*header), data);
  const absl::StatusOr<PackHeader> again = ParsePack(BytesOf(written), kFile);
  Check(again.ok() && PackPreamble(*again) == PackPreamble(*header),
        "a header survives being written and read");

  const absl::Status status = ReadWhole(*header, data);
  if (absl::IsNotFound(status)) {
    Check(status.message() == "corpus has no config.json",
          "only a model without its configuration is not found");
    return status;
  }
  if (absl::IsDataLoss(status)) {
    Check(absl::StrContains(status.message(), "expected finite numbers"),
          "checksums are right");
    return status;
  }
  if (!status.ok()) {
    CheckMessage(status);
    return status;
  }
  ++SomeChecksum(*header, text.size());
  Check(absl::IsDataLoss(ReadWhole(*header, data)),
        "data without its checksum is not taken");
  return absl::OkStatus();
}

}  // namespace banyan
