// Laws that hang on the depth alone, for drafters with a guess a depth.
#ifndef BANYAN_DRAFTERS_HEADS_DEPTH_LAWS_H_
#define BANYAN_DRAFTERS_HEADS_DEPTH_LAWS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/trunk_tree.h"

namespace banyan {

// For each of `nodes`, in their order, what `rule` makes after `history` of the
// logits for its depth, [0] being the root's; nothing below the last.
absl::StatusOr<std::vector<Distribution>> DepthLaws(
    const std::vector<std::vector<double>>& logits, const SamplingRule& rule,
    absl::Span<const TokenId> history, const TrunkTree& tree,
    absl::Span<const int> nodes);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_DEPTH_LAWS_H_
