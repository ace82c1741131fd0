#include "drafters/text/match_lengths.h"

#include "absl/strings/str_cat.h"
#include "core/base/params.h"

namespace banyan {
namespace {

constexpr int kMostMatch = 64;

}  // namespace

void ReadMatchLengths(ParamsReader& in, int& min_match, int& max_match) {
  in.Between("max_match", max_match, 1, kMostMatch,
             "The most tokens that are matched.");
  in.Optional("min_match", min_match,
              "The fewest tokens that are a match, at least 1.");
  in.Ensure(
      min_match >= 1 && min_match <= max_match, "min_match",
      absl::StrCat("must lie between 1 and max_match, which is ", max_match));
}

}  // namespace banyan
