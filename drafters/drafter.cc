#include "drafters/drafter.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/prob/distribution.h"

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

}  // namespace banyan
