// What a PlanDrafter's session plans.
#ifndef BANYAN_TESTS_DRAFTERS_TEXT_PLANS_H_
#define BANYAN_TESTS_DRAFTERS_TEXT_PLANS_H_

#include <cstddef>
#include <map>
#include <vector>

#include "core/base/token.h"
#include "drafters/text/plan_drafter.h"
#include "tests/support/solo.h"

namespace banyan {

inline const DraftPlan& PlanOf(const Solo& drafter) {
  return static_cast<const PlanSession&>(drafter.session()).plan();
}

// The tokens down to each node, by node.
inline std::vector<std::vector<TokenId>> PathsOf(const DraftPlan& plan) {
  std::vector<std::vector<TokenId>> paths(1);
  for (int node = 1; node < plan.size(); ++node) {
    paths.push_back(paths[static_cast<std::size_t>(plan.node(node).parent)]);
    paths.back().push_back(plan.node(node).token);
  }
  return paths;
}

// Each node's score by its path, without the root.
using PlanScores = std::map<std::vector<TokenId>, double>;
inline PlanScores ScoresOf(const DraftPlan& plan) {
  const std::vector<std::vector<TokenId>> paths = PathsOf(plan);
  PlanScores scores;
  for (int node = 1; node < plan.size(); ++node)
    scores[paths[static_cast<std::size_t>(node)]] = plan.node(node).score;
  return scores;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_TEXT_PLANS_H_
