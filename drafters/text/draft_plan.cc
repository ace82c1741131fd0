#include "drafters/text/draft_plan.h"

#include <cstddef>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"

namespace banyan {

int DraftPlan::Add(int parent, TokenId token, double score) {
  Check(parent >= 0 && parent < size(), "a node of the plan");
  Check(score > 0, "a score that speaks for the token");
  Check(Child(parent, token) < 0, "siblings are distinct");
  Node& above = nodes_[static_cast<std::size_t>(parent)];
  const Node child = {.token = token,
                      .parent = parent,
                      .score = score,
                      .next_sibling = above.first_child};
  above.first_child = size();
  nodes_.push_back(child);
  return size() - 1;
}

DraftPlan DraftPlan::Chain(absl::Span<const TokenId> tokens) {
  DraftPlan plan;
  int at = 0;
  for (TokenId token : tokens) at = plan.Add(at, token, 1);
  return plan;
}

int DraftPlan::depth(int index) const {
  int depth = 0;
  for (int at = index; at > 0; at = node(at).parent) ++depth;
  return depth;
}

int DraftPlan::Child(int index, TokenId token) const {
  int child = node(index).first_child;
  while (child >= 0 && node(child).token != token)
    child = node(child).next_sibling;
  return child;
}

int DraftPlan::Find(absl::Span<const TokenId> path) const {
  int at = 0;
  for (std::size_t i = 0; i < path.size() && at >= 0; ++i)
    at = Child(at, path[i]);
  return at;
}

}  // namespace banyan
