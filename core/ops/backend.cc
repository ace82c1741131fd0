#include "core/ops/backend.h"

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/ops/gauge.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Gauge>> Backend::NewGauge(
    std::size_t /*bytes*/, const Clock& /*clock*/) {
  return absl::UnimplementedError(
      absl::StrCat(description(), " does not know its own limits"));
}

absl::Status Backend::CheckRoom(std::size_t /*bytes*/,
                                absl::string_view /*what*/) {
  return absl::OkStatus();
}

}  // namespace banyan
