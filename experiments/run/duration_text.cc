#include "experiments/run/duration_text.h"

#include <string>

#include "absl/strings/str_format.h"

namespace banyan {

std::string DurationText(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600)
    return absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d h", whole / 3600, whole / 60 % 60);
}

}  // namespace banyan
