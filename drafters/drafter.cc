#include "drafters/drafter.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "tree/trunk_tree.h"

namespace banyan {

absl::StatusOr<std::vector<std::vector<Distribution>>> Drafter::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  std::vector<std::vector<Distribution>> all;
  for (const DraftRequest& request : requests) {
    BANYAN_ASSIGN_OR_RETURN(
        std::vector<Distribution> proposals,
        request.drafter->Propose(*request.context, *request.tree,
                                 request.nodes));
    all.push_back(std::move(proposals));
  }
  return all;
}

absl::StatusOr<std::vector<Distribution>> Drafter::ProposeAlone(
    const Context& context, const TrunkTree& tree,
    absl::Span<const int> nodes) {
  const DraftRequest request = {
      this, &context, &tree, {nodes.begin(), nodes.end()}};
  BANYAN_ASSIGN_OR_RETURN(std::vector<std::vector<Distribution>> all,
                          ProposeAll({&request, 1}));
  return std::move(all.front());
}

}  // namespace banyan
