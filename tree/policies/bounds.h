// Bounds on what a policy may draw.
#ifndef BANYAN_TREE_POLICIES_BOUNDS_H_
#define BANYAN_TREE_POLICIES_BOUNDS_H_

#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/tree_policy.h"

namespace banyan {

// Refuses keys by which more than kMaxDraws draws would be made in a round;
// `key` is the one that is named.
inline void EnsureDraws(ParamsReader& in, absl::string_view key, double draws) {
  in.Ensure(draws <= kMaxDraws, key,
            absl::StrCat("makes up to ", draws, " draws a round: more than ",
                         kMaxDraws));
}

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_BOUNDS_H_
