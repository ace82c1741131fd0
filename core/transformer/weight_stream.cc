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
#include "core/base/weight_format.h"
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

std::size_t MemoryOf(const PackMatrix& matrix, WeightFormat format) {
  return PanelCount(matrix.rows) * PanelBytes(format, matrix.columns);
}
std::size_t MemoryOf(const PackMatrix& matrix) {
  return MemoryOf(matrix, matrix.format);
}

std::string Megabytes(std::size_t bytes) {
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

struct Sizes {
  struct Layer {
    std::vector<const PackMatrix*> matrices;
    std::size_t bytes = 0;
    std::size_t copy = 0;  // of its copy
  };

  std::size_t others = 0;  // of the model, that stays whatever the memory
  std::vector<Layer> layers;
  std::size_t copies = 0;  // of all layers
  std::size_t reserved = 0;
  std::size_t slot = 0;  // of the ring

  // What stays if no layer does.
  std::size_t least() const { return others + reserved + copies; }
};

Sizes SizesOf(const Checkpoint& checkpoint, const WeightRoom& room) {
  Sizes sizes = {.reserved = room.reserved};
  for (const PackVector& vector : checkpoint.pack()->vectors)
    sizes.others += vector.numbers * sizeof(float);
  for (const PackMatrix& matrix : checkpoint.pack()->matrices)
    sizes.others += MemoryOf(matrix);
  std::size_t largest = 0;
  for (const LayerSources& layer : checkpoint.architecture().layers) {
    Sizes::Layer& of = sizes.layers.emplace_back();
    for (const MatrixSources& sources : LayerMatrices(layer).all()) {
      const PackMatrix* const matrix = checkpoint.FindPacked(sources);
      Check(matrix != nullptr, "a packed model has all of its matrices");
      of.matrices.push_back(matrix);
      of.bytes += MemoryOf(*matrix);
      if (room.copies.has_value()) of.copy += MemoryOf(*matrix, *room.copies);
      largest = std::max(largest, matrix->ExtentBytes(0));
    }
    sizes.others -= of.bytes;
    sizes.copies += of.copy;
  }
  sizes.slot = ExtentRing::SlotBytes(largest);
  return sizes;
}

// As many slots as the layers that do not stay leave room for.
std::size_t SlotsFor(const Sizes& sizes, std::size_t room,
                     std::size_t* resident) {
  *resident = 0;
  for (const Sizes::Layer& layer : sizes.layers) {
    // A model that keeps all of its layers drafts nothing from copies.
    if (*resident + 1 == sizes.layers.size() && sizes.copies > 0) break;
    // A quarter of the room, if that is less than the most, is for the ring.
    const std::size_t ring =
        std::clamp(room / 4 / sizes.slot, kLeastSlots, kMostSlots) * sizes.slot;
    if (layer.bytes + ring > room + layer.copy) break;
    room = room + layer.copy - layer.bytes;
    ++*resident;
  }
  return std::min(room / sizes.slot, kMostSlots);
}

std::string Parts(const Sizes& sizes) {
  std::string text = absl::StrCat(Megabytes(sizes.others),
                                  " of embedding, output matrix and vectors");
  if (sizes.reserved > 0)
    absl::StrAppend(&text, ", ", Megabytes(sizes.reserved), " of drafters");
  if (sizes.copies > 0)
    absl::StrAppend(&text, ", ", Megabytes(sizes.copies),
                    " of copies of layers");
  return absl::StrCat(text, ", and two buffers for reads");
}

}  // namespace

std::size_t WeightStream::LeastMemory(const Checkpoint& checkpoint,
                                      const WeightRoom& room) {
  const Sizes sizes = SizesOf(checkpoint, room);
  return sizes.least() + kLeastSlots * sizes.slot;
}

absl::StatusOr<std::unique_ptr<WeightStream>> WeightStream::Open(
    const Checkpoint& checkpoint, const WeightRoom& room) {
  const Sizes sizes = SizesOf(checkpoint, room);
  std::size_t all = sizes.others + sizes.reserved;
  for (const Sizes::Layer& layer : sizes.layers) all += layer.bytes;
  if (room.copies.has_value())
    for (const PackMatrix& matrix : checkpoint.pack()->matrices)
      all += MemoryOf(matrix, *room.copies);
  if (all <= room.memory) return nullptr;
  const std::size_t least = sizes.least() + kLeastSlots * sizes.slot;
  if (room.memory < least)
    return absl::ResourceExhaustedError(
        absl::StrCat(checkpoint.directory(), ": expected memory of at least ",
                     Megabytes(least), " (", Parts(sizes), "), found ",
                     Megabytes(room.memory)));
  auto stream = absl::WrapUnique(new WeightStream());
  std::size_t resident = 0;
  const std::size_t slots =
      SlotsFor(sizes, room.memory - sizes.least(), &resident);
  stream->resident_layers_ = static_cast<int>(resident);
  std::vector<Extent> extents;
  const std::uint64_t begin = checkpoint.pack()->data_begin;
  for (std::size_t layer = resident; layer < sizes.layers.size(); ++layer)
    for (const PackMatrix* matrix : sizes.layers[layer].matrices) {
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
