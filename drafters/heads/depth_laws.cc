#include "drafters/heads/depth_laws.h"

#include <cstddef>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/trunk_tree.h"

namespace banyan {

absl::StatusOr<std::vector<Distribution>> DepthLaws(
    const std::vector<std::vector<double>>& logits, const SamplingRule& rule,
    absl::Span<const TokenId> history, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  std::map<int, Distribution> laws;  // by depth; nodes of one depth share it
  std::vector<Distribution> proposals;
  for (int node : nodes) {
    const int depth = tree.node(node).depth;
    const auto at = static_cast<std::size_t>(depth);
    if (at >= logits.size()) {
      proposals.emplace_back();
      continue;
    }
    if (laws.count(depth) == 0) {
      BANYAN_ASSIGN_OR_RETURN(laws[depth], rule.Apply(logits[at], history, {}));
    }
    proposals.push_back(laws[depth]);
  }
  return proposals;
}

}  // namespace banyan
