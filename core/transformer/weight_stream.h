// WeightStream: a packed model of which only a part stays in memory: which
// layers do, and the ring through which the others come from the file.
#ifndef BANYAN_CORE_TRANSFORMER_WEIGHT_STREAM_H_
#define BANYAN_CORE_TRANSFORMER_WEIGHT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/stream/extent_ring.h"
#include "core/ops/panels.h"
#include "core/pack/pack_file.h"

namespace banyan {

// What the weights of a model, of its drafters and the buffers for reading may
// take together.
struct WeightRoom {
  std::size_t memory = 0;
  std::size_t reserved = 0;  // of it, for drafters
  // The format in which layers that do not stay have copies in memory, from
  // which the model drafts for itself; none: they have no copies.
  std::optional<WeightFormat> copies = std::nullopt;
};

class WeightStream {
 public:
  // The least memory that Open takes for a packed model.
  static std::size_t LeastMemory(const Checkpoint& checkpoint,
                                 const WeightRoom& room = {});

  // Keeps as many layers in memory, spread evenly, as fit beside the
  // other weights, what is reserved, the copies of layers that do not stay, and
  // the ring. Null if all fit, with a copy of the whole model if there are
  // copies. ResourceExhausted, with the least that works, if not even two slots
  // of the ring do. Requires a packed model.
  static absl::StatusOr<std::unique_ptr<WeightStream>> Open(
      const Checkpoint& checkpoint, const WeightRoom& room);

  // Whether a matrix stays in the file.
  bool Streams(const PackMatrix& matrix) const {
    return places_.find(&matrix) != places_.end();
  }
  // Requires one that does.
  StreamedPanels PanelsOf(const PackMatrix& matrix) const;

  // Takes every extent once. Gives the bytes that the ring read meanwhile.
  absl::StatusOr<std::uint64_t> ReadAll() const;

  bool KeepsLayer(std::size_t layer) const { return keeps_[layer]; }
  std::size_t ring_bytes() const { return ring_->bytes(); }
  // What a pass over all layers reads from the file.
  std::size_t pass_bytes() const { return pass_bytes_; }
  // "io_uring, past the page cache".
  const std::string& reader() const { return reader_; }

 private:
  WeightStream() = default;

  std::vector<bool> keeps_;  // by layer
  std::size_t pass_bytes_ = 0;
  std::size_t extents_ = 0;
  std::string reader_;
  std::map<const PackMatrix*, std::size_t> places_;  // first extents
  std::shared_ptr<ExtentRing> ring_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_WEIGHT_STREAM_H_
