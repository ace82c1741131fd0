// WeightStream: a packed model of which only a part stays in memory: which
// layers do, and the ring through which the others come from the file.
#ifndef BANYAN_CORE_TRANSFORMER_WEIGHT_STREAM_H_
#define BANYAN_CORE_TRANSFORMER_WEIGHT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/stream/extent_ring.h"
#include "core/ops/panels.h"
#include "core/pack/pack_file.h"

namespace banyan {

class WeightStream {
 public:
  // The least memory that Open takes for a packed model.
  static std::size_t LeastMemory(const Checkpoint& checkpoint);

  // Layers stay in memory from the first on, as many as fit into `memory` bytes
  // beside the other weights and the ring. Null if all fit. ResourceExhausted,
  // with the least that works, if not even two slots of the ring do. Requires a
  // packed model.
  static absl::StatusOr<std::unique_ptr<WeightStream>> Open(
      const Checkpoint& checkpoint, std::size_t memory);

  // Whether a matrix stays in the file.
  bool Streams(const PackMatrix& matrix) const {
    return places_.find(&matrix) != places_.end();
  }
  // Requires one that does.
  StreamedPanels PanelsOf(const PackMatrix& matrix) const;

  // Takes every extent once. Gives the bytes that the ring read meanwhile.
  absl::StatusOr<std::uint64_t> ReadAll() const;

  int resident_layers() const { return resident_layers_; }
  std::size_t ring_bytes() const { return ring_->bytes(); }
  // What a pass over all layers reads from the file.
  std::size_t pass_bytes() const { return pass_bytes_; }
  // "io_uring, past the page cache".
  const std::string& reader() const { return reader_; }

 private:
  WeightStream() = default;

  int resident_layers_ = 0;
  std::size_t pass_bytes_ = 0;
  std::size_t extents_ = 0;
  std::string reader_;
  std::map<const PackMatrix*, std::size_t> places_;  // first extents
  std::shared_ptr<ExtentRing> ring_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_WEIGHT_STREAM_H_
