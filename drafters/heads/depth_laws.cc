#include "drafters/heads/depth_laws.h"

#include <cstddef>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"

namespace banyan {

absl::StatusOr<Proposals> DepthLaws(
    const std::vector<std::vector<double>>& logits, const LogitTokens& of,
    const SamplingRule& rule, const DraftRequest& request) {
  std::map<int, Distribution> laws;  // by depth; nodes of one depth share it
  Proposals proposals;
  for (int node : request.nodes) {
    const int depth = request.tree->node(node).depth;
    const auto at = static_cast<std::size_t>(depth);
    if (at >= logits.size()) {
      proposals.emplace_back();
      continue;
    }
    if (laws.count(depth) == 0) {
      const std::vector<TokenId>& text = request.context->tokens;
      BANYAN_ASSIGN_OR_RETURN(laws[depth],
                              of.tokens.empty()
                                  ? rule.Apply(logits[at], text, {})
                                  : rule.ApplyToSome(logits[at], of.tokens,
                                                     of.vocab_size, text, {}));
    }
    proposals.push_back({laws[depth]});
  }
  return proposals;
}

}  // namespace banyan
