#include "core/transformer/weight_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "core/base/panel.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/stream/block_reads.h"
#include "core/device/stream/direct_file.h"
#include "core/device/stream/extent_ring.h"
#include "core/ops/panels.h"
#include "core/pack/pack_file.h"

namespace banyan {
namespace {

static_assert(kPackAlignment % kDirectBlock == 0,
              "extents can be read past the page cache");

constexpr std::size_t kLeastSlots = 2;
// Of extents of a megabyte: reads are under way while a few are multiplied. A
// layer that stays saves more than a longer ring.
constexpr std::size_t kMostSlots = 64;

std::size_t MemoryOf(const PackMatrix& matrix) {
  return PanelCount(matrix.rows) * PanelBytes(matrix.format, matrix.columns);
}

std::string Megabytes(std::size_t bytes) {
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

struct Sizes {
  std::size_t others = 0;  // what stays whatever the memory
  std::vector<std::vector<const PackMatrix*>> layers;
  std::vector<std::size_t> layer_bytes;
  std::size_t slot = 0;  // of the ring
};

Sizes SizesOf(const Checkpoint& checkpoint) {
  Sizes sizes;
  for (const PackVector& vector : checkpoint.pack()->vectors)
    sizes.others += vector.numbers * sizeof(float);
  for (const PackMatrix& matrix : checkpoint.pack()->matrices)
    sizes.others += MemoryOf(matrix);
  std::size_t largest = 0;
  for (const LayerSources& layer : checkpoint.architecture().layers) {
    std::vector<const PackMatrix*>& matrices = sizes.layers.emplace_back();
    std::size_t& bytes = sizes.layer_bytes.emplace_back(0);
    for (const MatrixSources& sources : LayerMatrices(layer).all()) {
      const PackMatrix* const matrix = checkpoint.FindPacked(sources);
      Check(matrix != nullptr, "a packed model has all of its matrices");
      matrices.push_back(matrix);
      bytes += MemoryOf(*matrix);
      largest = std::max(largest, matrix->ExtentBytes(0));
    }
    sizes.others -= bytes;
  }
  sizes.slot = ExtentRing::SlotBytes(largest);
  return sizes;
}

// As many slots as the layers that do not stay leave room for.
std::size_t SlotsFor(const Sizes& sizes, std::size_t room,
                     std::size_t* resident) {
  std::size_t taken = 0;
  *resident = 0;
  for (const std::size_t bytes : sizes.layer_bytes) {
    // A quarter of the room, if that is less than the most, is for the ring.
    const std::size_t ring =
        std::clamp(room / 4 / sizes.slot, kLeastSlots, kMostSlots) * sizes.slot;
    if (taken + bytes + ring > room) break;
    taken += bytes;
    ++*resident;
  }
  return std::min((room - taken) / sizes.slot, kMostSlots);
}

}  // namespace

std::size_t WeightStream::LeastMemory(const Checkpoint& checkpoint) {
  const Sizes sizes = SizesOf(checkpoint);
  return sizes.others + kLeastSlots * sizes.slot;
}

absl::StatusOr<std::unique_ptr<WeightStream>> WeightStream::Open(
    const Checkpoint& checkpoint, std::size_t memory) {
  const Sizes sizes = SizesOf(checkpoint);
  std::size_t all = sizes.others;
  for (const std::size_t bytes : sizes.layer_bytes) all += bytes;
  if (all <= memory) return nullptr;
  const std::size_t least = sizes.others + kLeastSlots * sizes.slot;
  if (memory < least)
    return absl::ResourceExhaustedError(absl::StrCat(
        checkpoint.directory(), ": expected memory of at least ",
        Megabytes(least), " (", Megabytes(sizes.others),
        " of embedding, output matrix and vectors, and two buffers for reads), "
        "found ",
        Megabytes(memory)));
  auto stream = absl::WrapUnique(new WeightStream());
  std::size_t resident = 0;
  const std::size_t slots = SlotsFor(sizes, memory - sizes.others, &resident);
  stream->resident_layers_ = static_cast<int>(resident);
  std::vector<Extent> extents;
  const std::uint64_t begin = checkpoint.pack()->data_begin;
  for (std::size_t layer = resident; layer < sizes.layers.size(); ++layer)
    for (const PackMatrix* matrix : sizes.layers[layer]) {
      stream->places_[matrix] = extents.size();
      for (std::size_t i = 0; i < matrix->extents(); ++i) {
        const std::size_t bytes = matrix->ExtentBytes(i);
        extents.push_back({begin + matrix->ExtentOffset(i),
                           static_cast<std::uint32_t>(bytes),
                           matrix->checksums[i]});
        stream->pass_bytes_ += ExtentRing::SlotBytes(bytes);
      }
    }
  stream->extents_ = extents.size();
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const DirectFile> file,
                          DirectFile::Open(checkpoint.directory()));
  absl::StatusOr<std::unique_ptr<BlockReads>> reads =
      UringReads(file, ExtentRing::kDepth);
  if (!reads.ok()) reads = ThreadReads(file, ExtentRing::kDepth);
  stream->reader_ = absl::StrCat(
      (*reads)->name(),
      file->direct() ? ", past the page cache" : ", through the page cache");
  BANYAN_ASSIGN_OR_RETURN(stream->ring_,
                          ExtentRing::Create(std::move(file), *std::move(reads),
                                             std::move(extents), slots));
  return stream;
}

absl::StatusOr<std::uint64_t> WeightStream::ReadAll() const {
  const std::uint64_t before = ring_->bytes_read();
  const std::unique_lock<std::mutex> turn = ring_->Turn();
  for (std::size_t i = 0; i < extents_; ++i)
    BANYAN_RETURN_IF_ERROR(ring_->Take(i).status());
  return ring_->bytes_read() - before;
}

StreamedPanels WeightStream::PanelsOf(const PackMatrix& matrix) const {
  return {.ring = ring_,
          .first_extent = places_.at(&matrix),
          .panels = matrix.panels,
          .name = matrix.parts.front().tensor};
}

}  // namespace banyan
