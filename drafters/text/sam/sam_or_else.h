// SamOrElse: a Sam, and the drafter that it hands over to where it has nothing
// to draft (sam.h).
#ifndef BANYAN_DRAFTERS_TEXT_SAM_SAM_OR_ELSE_H_
#define BANYAN_DRAFTERS_TEXT_SAM_SAM_OR_ELSE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "drafters/composed/drafter_of_drafters.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

class SamOrElse : public DrafterOfDrafters {
 public:
  // The first of two parts is one whose promise is 0 where it drafts nothing;
  // the other one drafts at most `depth` levels, all if it is 0.
  SamOrElse(InnerDrafters parts, int depth)
      : DrafterOfDrafters(std::move(parts)), depth_(depth) {}

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<SamOrElse>(parts().Clone(), depth_);
  }
  std::vector<DraftLaw> laws() const override {
    return parts().LawsGivenOrMade();
  }
  absl::Status Begin(const Context& context) override;
  // That of whoever drafts.
  std::optional<double> Promise(const Context& context) const override;
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  DoneRows Computed(const DraftTree& tree) const override {
    return parts()[chosen_].drafter().Computed(tree);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  void Choose(const Context& context);

  int depth_;
  int chosen_ = 0;  // for the next round
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_SAM_SAM_OR_ELSE_H_
