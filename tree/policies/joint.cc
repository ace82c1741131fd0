#include "tree/policies/joint.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/optimize/joint_shape.h"
#include "tree/optimize/shape.h"
#include "tree/policies/joint_keys.h"
#include "tree/policies/row.h"
#include "tree/policies/shape_plan.h"

namespace banyan {

Joint::Joint(const JointShape& shape, int drafters)
    : shape_(shape), children_(Children(shape.shape)), drafters_(drafters) {}

PolicyTraits Joint::traits() const {
  return {.draw_kinds = EveryDrawKind(),
          .nodes = shape_.shape.size() - 1,
          .levels = Height(shape_.shape),
          .drafters = drafters_};
}

std::vector<MethodExpansion> Joint::Next(const GrowingTree& tree) const {
  Check(tree.drafters() == drafters_,
        "joint has acceptance and costs of other drafters");
  std::vector<int> places(static_cast<std::size_t>(tree.size()), -1);
  places.front() = 0;
  std::vector<MethodExpansion> next;
  int level = std::numeric_limits<int>::max();
  for (int node = 0; node < tree.size(); ++node) {
    const int place = places[static_cast<std::size_t>(node)];
    if (place < 0) continue;
    const std::vector<int>& children =
        children_[static_cast<std::size_t>(place)];
    const auto drafter_of = [&](std::size_t i) {
      return shape_.drafters[static_cast<std::size_t>(children[i])];
    };
    // A draw takes the next place of its drafter; those before it were left
    // out.
    std::size_t left = 0;
    for (const DrawnAt& at : tree.DrawsInTime(node)) {
      while (drafter_of(left) != at.drafter) ++left;
      const int child = tree.merged(at.draw->child, at.drafter);
      places[static_cast<std::size_t>(child)] = children[left++];
    }
    const int depth = tree.node(node).depth;
    if (depth > level) continue;
    for (; left < children.size(); ++left) {
      const int drafter = drafter_of(left);
      if (!tree.MayDraw(node, drafter)) continue;
      if (depth < level) next.clear();
      level = depth;
      next.push_back({.drafter = drafter, .node = node, .new_tokens = true});
    }
  }
  return next;
}

namespace {

absl::StatusOr<ShapePlan> PlanJoint(ParamsReader& in,
                                    const JointSection& section) {
  BANYAN_ASSIGN_OR_RETURN(const JointModel model, ReadJoint(in, section));
  JointShape shape = FastestJointShape(model);
  HardwareChoice choice = Predict(shape, model);
  std::vector<double> reach = ReachOf(shape, model.acceptance);
  return ShapePlan{.shape = std::move(shape.shape),
                   .drafters = std::move(shape.drafters),
                   .count = model.acceptance.drafters(),
                   .reach = std::move(reach),
                   .expected_tokens = choice.expected_tokens,
                   .choice = std::move(choice)};
}

}  // namespace

PolicyRow JointRow() {
  Keys<JointSection> keys;
  AddSizeKeys(keys);
  AddJointKeys(keys);
  return {.name = "joint",
          .sentence =
              "One fixed shape for the tree of all drafters: the fastest by "
              "their acceptance, together and alone, and by their costs.",
          .keys = keys.Rows(),
          .plan = keys.ReadFor(PlanJoint),
          .sizes = {.nodes = true, .levels = true},
          .takes_costs = true,
          .of_method = true,
          .examples = {
              "{nodes: 3, target_ms: {1: 10, 4: 11}, draft_ms: [0.1], alone: "
              "[[[0.6, 0.3], [0.4]]]}",
              "{nodes: 4, levels: 2, target_ms: {1: 10, 5: 10.1}, draft_ms: "
              "[0.2], alone: [[[0.5, 0.3, 0.2], [0.5, 0.3]]]}"}};
}

}  // namespace banyan
