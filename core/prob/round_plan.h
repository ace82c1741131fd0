// The parts of a speculation round, for a device that runs it without the host:
// the names of the device's counterparts, and the numbers they take.
#ifndef BANYAN_CORE_PROB_ROUND_PLAN_H_
#define BANYAN_CORE_PROB_ROUND_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/prob/draw_kind.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// Which nodes are drafted. The device's counterparts, and their numbers:
//   fixed          1 if the nodes of a level share draws, else 0; then the
//                  parent of every place in depth-first order, -1 for the first
//   sequences      width, levels
//   expand_rerank  width, levels, nodes
struct ShapeTwin {
  std::string name;
  std::vector<int> numbers;
};

struct RoundPlan {
  ShapeTwin shape;
  // greedy, match, point_mass, rounds.
  std::string verifier;
  DrawKind draw_kind = DrawKind::kIndependent;
  SamplingRule target_rule = SamplingRule();
  SamplingRule draft_rule = SamplingRule();
  std::vector<TokenId> end_of_text;  // nothing is drafted below these
  std::uint64_t seed = 0;
};

// A sequence as it stands between two rounds.
struct RoundStart {
  std::vector<TokenId> text;  // committed; the last one is the root
  std::uint32_t prompt = 0;
  std::uint32_t round = 0;
};

// What a round found. Nodes stand in depth-first order, the root first; draws
// node by node, in the order of time.
struct RoundFindings {
  struct Draw {
    int node;
    TokenId token;
    int child;
    double q;  // its mass in the distribution it is judged by
  };
  std::vector<TokenId> tokens;
  std::vector<int> parents;
  std::vector<Draw> draws;
  std::vector<int> path;
  TokenId next = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_PROB_ROUND_PLAN_H_
