#include "core/ops/backend.h"

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/ops/probe.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Probe>> Backend::NewProbe(
    std::size_t /*bytes*/, const Clock& /*clock*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " does not know its own limits"));
}

}  // namespace banyan
