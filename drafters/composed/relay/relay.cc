#include "drafters/composed/relay/relay.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Drafter>> Relay::Build(ParamsReader& in,
                                                      Workbench& bench) {
  std::vector<Params> spans;
  in.Required("spans", spans);
  in.Ensure(!spans.empty(), "spans", "must name a drafter");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::vector<Params> sections;
  std::vector<int> ends;
  int levels = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    ParamsReader span(spans[i], absl::StrCat("span ", i + 1, " of a relay"));
    sections.emplace_back();
    span.Required("drafter", sections.back());
    if (i + 1 < spans.size()) {
      int own = 0;
      span.Required("levels", own);
      // A tree has at most as many levels as draws.
      span.Ensure(own >= 1 && own <= kMaxDraws - levels, "levels",
                  absl::StrCat("must be at least 1, and with the spans before ",
                               "at most ", kMaxDraws));
      ends.push_back(levels += own);
    } else {
      span.Ensure(span.Take("levels") == nullptr, "levels",
                  "is not for the last span, which has the rest");
    }
    BANYAN_RETURN_IF_ERROR(span.Finish());
  }
  BANYAN_ASSIGN_OR_RETURN(InnerDrafters parts,
                          InnerDrafters::Build(sections, bench));
  return std::make_unique<Relay>(std::move(parts), std::move(ends));
}

Relay::Relay(InnerDrafters parts, std::vector<int> ends)
    : DrafterOfDrafters(std::move(parts)), ends_(std::move(ends)) {}

std::vector<DraftLaw> Relay::laws() const {
  std::vector<DraftLaw> laws;
  for (DraftLaw law : kEveryLaw)
    if (parts().AllGive(law)) laws.push_back(law);
  return laws;
}

int Relay::PartAt(int depth) const {
  return static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), depth) -
                          ends_.begin());
}

absl::StatusOr<std::vector<std::vector<Distribution>>> Relay::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  std::vector<InnerDrafters::Choice> choices;
  for (const DraftRequest& request : requests) {
    auto& own = static_cast<Relay&>(*request.drafter);
    choices.push_back({&request, &own.parts(), {}});
    for (int node : request.nodes)
      choices.back().part_of.push_back(
          own.PartAt(request.tree->node(node).depth));
  }
  return InnerDrafters::AnswerAll(choices);
}

}  // namespace banyan
