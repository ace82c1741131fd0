// Best-first drafting: each draw goes where the drafter thinks it most likely
// to be accepted (DySpec; with deterministic draws, OPT-Tree).
#ifndef BANYAN_TREE_POLICIES_BEST_FIRST_H_
#define BANYAN_TREE_POLICIES_BEST_FIRST_H_

#include <memory>
#include <vector>

#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

struct BestFirstOptions {
  int budget = 1;        // draws, kept or repeated
  int max_depth = 0;     // levels; 0 is unlimited
  double min_value = 0;  // stop when the best slot is worth less
};

// Every node has one slot, its next draw. A slot is worth the chance, as the
// drafter sees it, that verification comes to it: the path mass of the node
// times what the earlier draws there leave. For deterministic draws, whose next
// token is known, it is the path mass of that token. The best slot is drawn,
// the lower node first on a tie. When it belongs to a node without a proposal,
// all such nodes are proposed for in one pass.
class BestFirst : public TreePolicy {
 public:
  explicit BestFirst(const BestFirstOptions& options) : options_(options) {}

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<BestFirst>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;

 private:
  bool MayDraw(const TrunkTree& tree, int node) const;

  BestFirstOptions options_;
};

PolicyRow BestFirstRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_BEST_FIRST_H_
