// Proposals that depend on the depth alone, for drafters with a guess a depth.
#ifndef BANYAN_DRAFTERS_HEADS_DEPTH_LAWS_H_
#define BANYAN_DRAFTERS_HEADS_DEPTH_LAWS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"

namespace banyan {

// Tokens that the logits belong to, ascending. Empty: the whole vocabulary.
struct LogitTokens {
  absl::Span<const TokenId> tokens;
  int vocab_size = 0;
};

// For each node of the request what `rule` makes of the logits for its depth,
// [0] being the root's; nothing below the last.
absl::StatusOr<Proposals> DepthLaws(
    const std::vector<std::vector<double>>& logits, const LogitTokens& of,
    const SamplingRule& rule, const DraftRequest& request);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_DEPTH_LAWS_H_
