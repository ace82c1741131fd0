#include "verifiers/verifier.h"

#include <algorithm>

namespace banyan {
namespace {

absl::Status Refuse(absl::string_view verifier, int node,
                    absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "verifier ", verifier, " refuses the tree at node ", node, ": ", why));
}

}  // namespace

absl::Status CheckLawful(absl::string_view verifier,
                         const VerifierTraits& traits, const DraftTree& tree) {
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    if (traits.one_list && node.lists.size() > 1)
      return Refuse(verifier, i, "it takes the draws of one trunk");
    for (const DrawList& list : node.lists) {
      if (std::find(traits.draw_kinds.begin(), traits.draw_kinds.end(),
                    list.draw_kind) == traits.draw_kinds.end())
        return Refuse(
            verifier, i,
            absl::StrCat("it takes no ", Name(list.draw_kind), " draws"));
      if (traits.chain && list.draws.size() > 1)
        return Refuse(verifier, i, "it takes one draw a node");
      if (traits.own_draws && list.shared_draws)
        return Refuse(verifier, i, "its draws are shared with another node");
    }
  }
  return absl::OkStatus();
}

}  // namespace banyan
