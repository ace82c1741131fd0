// How drafters make proposals: of logits, of ranked candidates, node by node,
// and by depth alone.
#ifndef BANYAN_DRAFTERS_PROPOSE_H_
#define BANYAN_DRAFTERS_PROPOSE_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"

namespace banyan {

// The rules by which a drafter's logits become proposals, one for each draw
// kind.
class DraftRules {
 public:
  explicit DraftRules(SamplingRule rule);

  // The given rule; but for deterministic draws at temperature 0, where it
  // leaves one token, the masses of temperature 1, which rank all.
  const SamplingRule& Of(DrawKind draw_kind) const {
    return draw_kind == DrawKind::kDeterministic ? ranking_ : rule_;
  }

 private:
  SamplingRule rule_;
  SamplingRule ranking_;
};

// Scores of ranked candidates that nothing is known of but their order.

// One of 2^-64 is never worth a node.
inline constexpr std::size_t kMostCandidates = 64;

// 1/2 for the first of these distinct tokens, at most kMostCandidates, and half
// as much for each one after it: a path's worth falls with every second choice.
Proposal Halving(int vocab_size, absl::Span<const TokenId> ranked);

// Proposing node by node, for drafters without a pass of their own.

// `propose` for each node of each request, in their order, given the tokens
// from the root's child down to it. Stops at the first failure.
absl::StatusOr<std::vector<Proposals>> ProposeEach(
    absl::Span<const DraftRequest> requests,
    absl::FunctionRef<absl::StatusOr<Proposal>(
        const DraftRequest& request, int node, absl::Span<const TokenId> path)>
        propose);

// Proposals that depend on the depth alone, for drafters with a guess a depth.

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

#endif  // BANYAN_DRAFTERS_PROPOSE_H_
