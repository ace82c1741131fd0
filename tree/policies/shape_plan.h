// ShapePlan: a tree's shape that is known before anything is drawn.
#ifndef BANYAN_TREE_POLICIES_SHAPE_PLAN_H_
#define BANYAN_TREE_POLICIES_SHAPE_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "tree/optimize/hardware.h"
#include "tree/optimize/shape.h"

namespace banyan {

struct ShapePlan {
  Shape shape;
  // Of a tree of all `count` drafters: whose draw a node is; -1 of the root.
  // Empty: of one drafter.
  std::vector<int> drafters = {};
  int count = 1;
  std::vector<double> reach = {};  // by node: the chance that it is accepted
  // The nodes of a level use one set of draws (FixedShape).
  bool share_draws = false;
  // What the optimiser expects of it, where it knows an acceptance.
  std::optional<double> expected_tokens;
  // The choice made on measured hardware, where there was one.
  std::optional<HardwareChoice> choice;
  // The file that it was read from; empty: none.
  std::string file;
};

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_SHAPE_PLAN_H_
