// A tree policy from outside the project: a chain with one leaf more beside
// each of its tokens. Its row says that `nodes` and `levels` size it, so
// experiments size it, measure its size and draw it as they do the project's
// own.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/optimize/shape.h"
#include "tree/policies/row.h"
#include "tree/policies/shape_plan.h"

namespace {

struct Options {
  int nodes = 0;
  int levels = 0;
};

absl::StatusOr<banyan::ShapePlan> Plan(banyan::ParamsReader& in,
                                       const Options& options) {
  int nodes = options.nodes;
  in.Ensure(nodes >= 0 && nodes <= 1000, "nodes", "must be from 0 to 1000");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (options.levels > 0)
    nodes = std::min(nodes, 2 * std::min(options.levels, 500));
  std::vector<std::vector<int>> paths;
  std::vector<int> spine;
  for (int node = 0; node < nodes; ++node) {
    if (node % 2 == 0) {
      spine.push_back(0);
      paths.push_back(spine);
    } else {
      paths.push_back(spine);
      paths.back().back() = 1;
    }
  }
  BANYAN_ASSIGN_OR_RETURN(banyan::Shape shape,
                          banyan::Shape::FromPaths(std::move(paths)));
  return banyan::ShapePlan{.shape = std::move(shape)};
}

}  // namespace

banyan::PolicyRow CombRow() {
  banyan::Keys<Options> keys;
  keys.Required("nodes", &Options::nodes, "The most nodes that are drafted.");
  keys.AtLeast("levels", &Options::levels, 0, "The most levels; 0: no limit.");
  return {.name = "comb",
          .sentence = "A chain with a leaf beside each of its tokens.",
          .keys = keys.Rows(),
          .plan = keys.ReadFor(Plan),
          .sizes = {.nodes = true, .levels = true},
          .examples = {"{nodes: 2}", "{nodes: 4}"}};
}
