// Scores of ranked candidates that nothing is known of but their order.
#ifndef BANYAN_DRAFTERS_HALVING_H_
#define BANYAN_DRAFTERS_HALVING_H_

#include <cstddef>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"

namespace banyan {

// One of 2^-64 is never worth a node.
inline constexpr std::size_t kMostCandidates = 64;

// 1/2 for the first of these distinct tokens, at most kMostCandidates, and half
// as much for each one after it: a path's worth falls with every second choice.
Proposal Halving(int vocab_size, absl::Span<const TokenId> ranked);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HALVING_H_
