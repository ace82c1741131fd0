#include "drafters/propose_each.h"

#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tree/derive.h"
#include "tree/trunk_tree.h"

namespace banyan {

absl::StatusOr<std::vector<Distribution>> ProposeEach(
    const TrunkTree& tree, absl::Span<const int> nodes,
    absl::FunctionRef<absl::StatusOr<Distribution>(
        int node, const std::vector<TokenId>& path)>
        propose) {
  std::vector<Distribution> proposals;
  for (int node : nodes) {
    BANYAN_ASSIGN_OR_RETURN(Distribution proposal,
                            propose(node, TokensTo(tree, node)));
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace banyan
