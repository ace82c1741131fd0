#include "core/transformer/weight_stream.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {
namespace {

static_assert(kPackAlignment % kDirectBlock == 0,
              "extents can be read past the page cache");

constexpr std::size_t kLeastSlots = 2;
// Of extents of a megabyte: what a disk reads while a large layer is
// multiplied. More would leave fewer layers in memory.
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

// MegabytesUp never prints less than the bytes, so that the printed bound
// works. MegabytesDown never prints more, so that a bound that is too small
// looks smaller.
constexpr std::size_t kTenth = 100000;
std::string MegabytesUp(std::size_t bytes) {
  return Megabytes((bytes + kTenth - 1) / kTenth * kTenth);
}
std::string MegabytesDown(std::size_t bytes) {
  return Megabytes(bytes / kTenth * kTenth);
}

// Lists the extents that stay in a file, and checks their contents.
class Streamed {
 public:
  explicit Streamed(const Checkpoint& checkpoint)
      : path_(checkpoint.directory()), begin_(checkpoint.pack()->data_begin) {}

  // Gives the number of the matrix's first extent.
  std::size_t Add(const PackMatrix& matrix) {
    const std::size_t first = extents_.size();
    for (std::size_t i = 0; i < matrix.extents(); ++i) {
      extents_.push_back({begin_ + matrix.ExtentOffset(i),
                          static_cast<std::uint32_t>(matrix.ExtentBytes(i)),
                          matrix.checksums[i]});
      matrix_of_.push_back(matrices_.size());
    }
    matrices_.push_back(matrix);
    return first;
  }
  const std::vector<Extent>& extents() const { return extents_; }
  absl::Status Check(std::size_t extent,
                     absl::Span<const std::byte> bytes) const {
    return CheckPanels(path_, matrices_[matrix_of_[extent]],
                       extents_[extent].offset, bytes);
  }

 private:
  std::string path_;
  std::uint64_t begin_;
  std::vector<Extent> extents_;
  std::vector<std::size_t> matrix_of_;  // by extent
  std::vector<PackMatrix> matrices_;
};

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
  std::size_t slot = 0;         // of the ring
  std::size_t layer_slots = 0;  // of the layer that takes most

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
    std::size_t extents = 0;
    for (const MatrixSources& sources : LayerMatrices(layer).all()) {
      const PackMatrix* const matrix = checkpoint.FindPacked(sources);
      Check(matrix != nullptr, "a packed model has all of its matrices");
      of.matrices.push_back(matrix);
      of.bytes += MemoryOf(*matrix);
      if (room.copies.has_value()) of.copy += MemoryOf(*matrix, *room.copies);
      largest = std::max(largest, matrix->ExtentBytes(0));
      extents += matrix->extents();
    }
    sizes.layer_slots = std::max(sizes.layer_slots, extents);
    sizes.others -= of.bytes;
    sizes.copies += of.copy;
  }
  sizes.slot = ExtentRing::SlotBytes(largest);
  return sizes;
}

// Whether `layer` is one of the `count` resident layers of `all`. Resident
// layers are spread evenly, so that the streamed ones are read meanwhile.
bool Stays(std::size_t layer, std::size_t count, std::size_t all) {
  return (layer + 1) * count / all > layer * count / all;
}

struct Layout {
  std::size_t resident = 0;
  std::size_t slots = 0;
};

// Keeps as many layers as fit beside a ring for one layer, of at most
// kMostSlots. The rest of the room is slots.
Layout LayoutFor(const Sizes& sizes, const std::size_t room) {
  const std::size_t all = sizes.layers.size();
  const std::size_t ring =
      std::clamp(sizes.layer_slots, kLeastSlots, kMostSlots) * sizes.slot;
  Layout layout;
  std::size_t left = room;
  // Not all: with copies they draft nothing, without they do not fit.
  for (std::size_t count = 1; count < all; ++count) {
    std::size_t bytes = 0;
    std::size_t copies = 0;  // not needed by resident layers
    for (std::size_t layer = 0; layer < all; ++layer)
      if (Stays(layer, count, all)) {
        bytes += sizes.layers[layer].bytes;
        copies += sizes.layers[layer].copy;
      }
    if (bytes + ring > room + copies) break;
    left = room + copies - bytes;
    layout.resident = count;
  }
  layout.slots = std::min(left / sizes.slot, kMostSlots);
  return layout;
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
                     MegabytesUp(least), " (", Parts(sizes), "), found ",
                     MegabytesDown(room.memory)));
  auto stream = absl::WrapUnique(new WeightStream());
  const Layout layout = LayoutFor(sizes, room.memory - sizes.least());
  Streamed streamed(checkpoint);
  for (std::size_t layer = 0; layer < sizes.layers.size(); ++layer) {
    stream->keeps_.push_back(
        Stays(layer, layout.resident, sizes.layers.size()));
    if (stream->keeps_.back()) continue;
    for (const PackMatrix* matrix : sizes.layers[layer].matrices)
      stream->places_[matrix] = streamed.Add(*matrix);
  }
  std::vector<Extent> extents = streamed.extents();
  for (const Extent& extent : extents)
    stream->pass_bytes_ += ExtentRing::SlotBytes(extent.bytes);
  stream->extents_ = extents.size();
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<const DirectFile> file,
                          DirectFile::Open(checkpoint.directory()));
  absl::StatusOr<std::unique_ptr<BlockReads>> reads =
      UringReads(file, ExtentRing::kDepth);
  if (!reads.ok()) reads = ThreadReads(file, ExtentRing::kDepth);
  stream->reader_ = absl::StrCat(
      (*reads)->name(),
      file->direct() ? ", past the page cache" : ", through the page cache");
  BANYAN_ASSIGN_OR_RETURN(
      stream->ring_,
      ExtentRing::Create(
          std::move(file), *std::move(reads), std::move(extents), layout.slots,
          [streamed = std::move(streamed)](std::size_t extent,
                                           absl::Span<const std::byte> bytes) {
            return streamed.Check(extent, bytes);
          }));
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
