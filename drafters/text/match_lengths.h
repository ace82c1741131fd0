// The keys of drafters that look the end of the text up in other text: the
// fewest and the most tokens of a match.
#ifndef BANYAN_DRAFTERS_TEXT_MATCH_LENGTHS_H_
#define BANYAN_DRAFTERS_TEXT_MATCH_LENGTHS_H_

#include "absl/strings/str_cat.h"
#include "core/base/keys.h"
#include "core/base/params.h"

namespace banyan {

template <typename Options>
void AddMatchLengths(Keys<Options>& keys) {
  keys.Between("max_match", &Options::max_match, 1, 64,
               "The most tokens that are matched.");
  keys.Optional("min_match", &Options::min_match,
                "The fewest tokens that are a match, at least 1.");
}

inline void EnsureMatchLengths(ParamsReader& in, int min_match, int max_match) {
  in.Ensure(
      min_match >= 1 && min_match <= max_match, "min_match",
      absl::StrCat("must lie between 1 and max_match, which is ", max_match));
}

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_MATCH_LENGTHS_H_
