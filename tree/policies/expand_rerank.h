// Expand and re-rank (EAGLE-2): grow wide by rank, keep the best.
#ifndef BANYAN_TREE_POLICIES_EXPAND_RERANK_H_
#define BANYAN_TREE_POLICIES_EXPAND_RERANK_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "core/prob/round_plan.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

struct ExpandRerankOptions {
  int top_k = 1;  // nodes expanded a level, and children of each
  int depth = 1;  // levels; beyond `total` none is drafted, as none is kept
  int total = 1;  // drafted nodes kept in the end
};

// The root gets its top_k candidates; then, level by level, the top_k nodes of
// the newest level by path mass get top_k candidates each. In the end the
// `total` nodes of largest path mass are kept, at any level. A path's mass
// never rises, so the kept nodes form a tree; on a tie the older node stays.
// Nodes are ranked after they are drafted, so the only draw kind is
// deterministic.
class ExpandRerank : public TreePolicy {
 public:
  explicit ExpandRerank(const ExpandRerankOptions& options)
      : options_(options) {
    options_.depth = std::min(options_.depth, options_.total);
  }

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<ExpandRerank>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  ShapeTwin twin() const override {
    return {"expand_rerank", {options_.top_k, options_.depth, options_.total}};
  }
  std::vector<int> Keep(const TrunkTree& tree) const override;

 private:
  ExpandRerankOptions options_;
};

PolicyRow ExpandRerankRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_EXPAND_RERANK_H_
