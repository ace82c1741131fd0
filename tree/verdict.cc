#include "tree/verdict.h"

#include "absl/strings/string_view.h"

namespace banyan {

absl::string_view Name(Exactness exactness) {
  switch (exactness) {
    case Exactness::kLossless:
      return "lossless";
    case Exactness::kLosslessAtTemperatureZero:
      return "lossless at temperature 0";
    case Exactness::kLossy:
      return "lossy";
  }
  return "";
}

}  // namespace banyan
