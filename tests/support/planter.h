// A drafter that plants probes beside another one's tree.
#ifndef BANYAN_TESTS_SUPPORT_PLANTER_H_
#define BANYAN_TESTS_SUPPORT_PLANTER_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "drafters/drafter.h"
#include "tests/support/decorated.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class Planter : public Decorated {
 public:
  using Vector = std::shared_ptr<const std::vector<float>>;

  // Below every node that `inner` drafted a probe of token 0, and below that
  // one that starts from `vector` (null: of token 0 too).
  Planter(std::unique_ptr<Drafter> inner, Vector vector)
      : Decorated(std::move(inner)), vector_(std::move(vector)) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<Planting>(inner().NewSession(), vector_);
  }

 private:
  class Planting : public DecoratedSession, private TargetPassPart {
   public:
    Planting(std::unique_ptr<DraftSession> inner, Vector vector)
        : DecoratedSession(std::move(inner), {.in_target_pass = this}),
          vector_(std::move(vector)) {}

   private:
    absl::Status TakeViews(Session& /*target*/) override {
      return absl::OkStatus();
    }
    void Plant(const Context& /*context*/, int max_depth,
               TrunkTree& tree) override {
      const int drafted = tree.size();
      for (int node = 0; node < drafted; ++node)
        if (tree.node(node).depth + 2 <= max_depth)
          tree.AddProbe(tree.AddProbe(node, 0), 0, vector_);
    }
    DoneRows Computed(const DraftTree& /*tree*/) const override { return {}; }

    Vector vector_;
  };

  Vector vector_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_PLANTER_H_
