// PlanDrafter: a drafter that knows its whole draft when a round begins.
//
// Drafters that look up the end of the committed text in other text find a
// draft once a round, and what follows a path of the tree under way is what
// follows it in that draft, if the path is in it. So they say what they found
// (DraftPlan) and answer by walking it.
//
// The plan is made when the round before is committed, from committed text
// alone: it is the same whatever is drawn in the round it is for. Its scores
// are counts or shares of them, which a CountRule makes laws of; without one
// they only rank.
#ifndef BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_
#define BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/draft_plan.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class PlanDrafter : public Drafter {
 public:
  // With a rule it gives every law, without one it ranks. Tokens of a plan that
  // are outside the vocabulary are not proposed.
  explicit PlanDrafter(int vocab_size, std::optional<CountRule> rule = {})
      : vocab_size_(vocab_size), rule_(std::move(rule)) {}

  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  // How many nodes of the plan it expects on the target's path, had it drawn
  // them all: the sum over them of the shares on their way.
  std::optional<double> Promise(const Context& context) const override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 protected:
  int vocab_size() const { return vocab_size_; }
  const DraftPlan& plan() const { return plan_; }

  // A new text begins, of which Follow() will tell.
  virtual absl::Status Start(const Context& context) = 0;
  // The committed text, which has grown.
  virtual absl::Status Follow(const Context& context) = 0;
  // What to propose after it. Costs no more than the logarithm of its length.
  virtual DraftPlan Plan(const Context& context) = 0;

 private:
  int vocab_size_;
  std::optional<CountRule> rule_;
  DraftPlan plan_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_PLAN_DRAFTER_H_
