// Devices: the available backends, by name. A backend is chosen only here; all
// other code is given one.
//
// The outline, a backend that reads no weights, is declared here too.
#ifndef BANYAN_CORE_OPS_DEVICES_H_
#define BANYAN_CORE_OPS_DEVICES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/ops/backend.h"

namespace banyan {

// A backend for looking at models without reading their weights: matrices are
// taken by their sizes, and whatever would compute fails.

// Says of itself what `device` does, whose limits and room are its. Packed
// weights ask for no rows. FailedPrecondition for every operation that gives
// numbers. `in_memory`, if there is one, outlives the backend and gets the
// bytes of all weights that would be in memory.
std::shared_ptr<Backend> OutlineOf(std::shared_ptr<Backend> device,
                                   std::size_t* in_memory = nullptr);

struct DeviceOptions {
  int threads = 0;              // 0: all the process may use
  std::string instruction_set;  // empty: the best
  // A library may choose the order of sums by what shares a pass: the last bits
  // of a row depend on the other rows (BackendFacts::faithful).
  bool fast = false;
};

struct DeviceRow {
  absl::string_view name;
  absl::string_view sentence;
  bool takes_threads;
  bool takes_fast;
  // What this machine has of it, best first; empty: there is nothing to choose.
  std::vector<std::string> (*instruction_sets)();
  absl::StatusOr<std::shared_ptr<Backend>> (*open)(const DeviceOptions&);
};

inline constexpr char kDefaultDevice[] = "cpu";

absl::Span<const DeviceRow> DeviceTable();

// Fails if no device has this name, if it does not take an option that is
// given, or as its backend does.
absl::StatusOr<std::shared_ptr<Backend>> OpenDevice(
    absl::string_view name, const DeviceOptions& options = {});

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_DEVICES_H_
