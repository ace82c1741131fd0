#include "drafters/propose_each.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/derive.h"

namespace banyan {

absl::StatusOr<std::vector<Proposals>> ProposeEach(
    absl::Span<const DraftRequest> requests,
    absl::FunctionRef<absl::StatusOr<Proposal>(
        const DraftRequest& request, int node, absl::Span<const TokenId> path)>
        propose) {
  std::vector<Proposals> all(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    for (int node : requests[i].nodes) {
      BANYAN_ASSIGN_OR_RETURN(
          Proposal proposal,
          propose(requests[i], node, TokensTo(*requests[i].tree, node)));
      all[i].push_back(std::move(proposal));
    }
  return all;
}

}  // namespace banyan
