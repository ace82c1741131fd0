// A drafter that plants probes beside another one's tree.
#ifndef BANYAN_TESTS_SUPPORT_PLANTER_H_
#define BANYAN_TESTS_SUPPORT_PLANTER_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Planter : public Drafter {
 public:
  using Vector = std::shared_ptr<const std::vector<float>>;

  // Below every node that `inner` drafted a probe of token 0, and below that
  // one that starts from `vector` (null: of token 0 too).
  Planter(std::unique_ptr<Drafter> inner, Vector vector)
      : inner_(std::move(inner)), vector_(std::move(vector)) {}

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Planter>(inner_->Clone(), vector_);
  }
  std::vector<DraftLaw> laws() const override { return inner_->laws(); }
  absl::Status Begin(const Context& context) override {
    return inner_->Begin(context);
  }
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return inner_->Propose(context, tree, nodes);
  }
  void Plant(const Context& /*context*/, int max_depth,
             TrunkTree& tree) override {
    const int drafted = tree.size();
    for (int node = 0; node < drafted; ++node)
      if (tree.node(node).depth + 2 <= max_depth)
        tree.AddProbe(tree.AddProbe(node, 0), 0, vector_);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return inner_->Observe(context, outcome);
  }

 private:
  std::unique_ptr<Drafter> inner_;
  Vector vector_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_PLANTER_H_
