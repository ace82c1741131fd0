// Proposing node by node, for drafters without a pass of their own.
#ifndef BANYAN_DRAFTERS_PROPOSE_EACH_H_
#define BANYAN_DRAFTERS_PROPOSE_EACH_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"

namespace banyan {

// `propose` for each node of each request, in their order, given the tokens
// from the root's child down to it. Stops at the first failure.
absl::StatusOr<std::vector<Proposals>> ProposeEach(
    absl::Span<const DraftRequest> requests,
    absl::FunctionRef<absl::StatusOr<Proposal>(
        const DraftRequest& request, int node, absl::Span<const TokenId> path)>
        propose);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_PROPOSE_EACH_H_
