// Expand and re-rank (EAGLE-2): grow wide by rank, keep the best.
#ifndef BANYAN_TREE_POLICIES_EXPAND_RERANK_H_
#define BANYAN_TREE_POLICIES_EXPAND_RERANK_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "core/round/plan.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

struct ExpandRerankOptions {
  int width = 1;   // nodes expanded a level, and children of each
  int levels = 1;  // levels; beyond `nodes` none is drafted, as none is kept
  int nodes = 1;   // drafted nodes kept in the end
};

// The root gets its width candidates; then, level by level, the width nodes of
// the newest level by path mass get width candidates each. In the end the
// `nodes` nodes of largest path mass are kept, at any level. A path's mass
// never rises, so the kept nodes form a tree; on a tie the older node stays.
// Nodes are ranked after they are drafted, so the only draw kind is
// deterministic.
class ExpandRerank : public TreePolicy {
 public:
  explicit ExpandRerank(const ExpandRerankOptions& options)
      : options_(options) {
    options_.levels = std::min(options_.levels, options_.nodes);
  }

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<ExpandRerank>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  std::optional<RoundShape> device_shape() const override {
    return RerankedShape{options_.width, options_.levels, options_.nodes};
  }
  std::vector<int> Keep(const TrunkTree& tree) const override;

 private:
  ExpandRerankOptions options_;
};

PolicyRow ExpandRerankRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_EXPAND_RERANK_H_
