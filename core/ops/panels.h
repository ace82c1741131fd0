// Matrices that come packed in panels (core/base/number_rows.h).
#ifndef BANYAN_CORE_OPS_PANELS_H_
#define BANYAN_CORE_OPS_PANELS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/device/stream/extent_ring.h"

namespace banyan {

// Writes the bytes of the panels from `first` on, as many as fill `to`.
using PanelSource = absl::FunctionRef<absl::Status(std::size_t first,
                                                   absl::Span<std::byte> to)>;

// The panels of one matrix in a file: extents from `first_extent` of the ring
// on, each of `panels` whole panels, the last of what is left.
struct StreamedPanels {
  std::shared_ptr<ExtentRing> ring;
  std::size_t first_extent = 0;
  std::size_t panels = 0;
  std::string name;  // for messages
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_PANELS_H_
