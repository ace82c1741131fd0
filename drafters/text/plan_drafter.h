// PlanDrafter: a drafter that knows its whole draft when a round begins.
//
// Drafters that look up the end of the committed text in other text find a
// draft once a round, and what follows a path of the tree under way is what
// follows it in that draft, if the path is in it. So they say what they found
// (DraftPlan) and answer by walking it.
//
// The plan is made when the round before is committed, from committed text
// alone: it is the same whatever is drawn in the round it is for. Its scores
// are counts or shares of them. A CountRule makes distributions of them;
// without one they only rank.
#ifndef BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_
#define BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/context.h"
#include "drafters/drafter.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/draft_plan.h"
#include "tree/verdict.h"

namespace banyan {

class PlanDrafter : public Drafter {
 public:
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 protected:
  // With a rule it gives every draw kind, without one it only ranks. Tokens of
  // a plan that are outside the vocabulary are not proposed. Sessions are
  // PlanSessions.
  PlanDrafter(int vocab_size, const std::optional<CountRule>& rule,
              CarriedState* carried);

 private:
  int vocab_size_;
  std::optional<CountRule> rule_;
};

class PlanSession : public DraftSession {
 public:
  absl::Status Begin(const Context& context) override;
  // How many nodes of the plan it expects on the target's path, had it drawn
  // them all: the sum over them of the shares on their way.
  std::optional<double> Promise(const Context& context) const override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;
  std::string End() override { return {}; }

  const DraftPlan& plan() const { return plan_; }

 protected:
  PlanSession() : DraftSession(SessionFacets{}) {}

  int prompt_length() const { return prompt_length_; }

  // The text begins, of which Follow() will tell.
  virtual void Start(const Context& /*context*/) {}
  // The committed text, which has grown.
  virtual absl::Status Follow(const Context& context) = 0;
  // What to propose after it. Costs no more than the logarithm of its length.
  virtual DraftPlan Plan(const Context& context) = 0;

 private:
  int prompt_length_ = 0;
  DraftPlan plan_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_
