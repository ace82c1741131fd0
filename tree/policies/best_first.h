// Best-first drafting: each draw goes where the drafter thinks it most likely
// to be accepted (DySpec; with deterministic draws, OPT-Tree, and with a decay
// for each level and a bound on the nodes of a pass, SpecExec).
#ifndef BANYAN_TREE_POLICIES_BEST_FIRST_H_
#define BANYAN_TREE_POLICIES_BEST_FIRST_H_

#include <memory>
#include <vector>

#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

struct BestFirstOptions {
  int most_draws = 1;    // draws, kept or repeated
  int levels = 0;        // levels; 0 is unlimited
  double min_value = 0;  // stop when the best slot is worth less
  double decay = 1;      // a slot is worth so much less with each level
  int beams = 0;         // nodes that are proposed for in one pass; 0: all
};

// Every node has one slot, its next draw. A slot is worth the chance, as the
// drafter sees it, that verification comes to it: the path mass of the node
// times what the earlier draws there leave. For deterministic draws, whose next
// token is known, it is the path mass of that token. The best slot is drawn,
// the lower node first on a tie. When it belongs to a node without a proposal,
// all such nodes, or the `beams` best of them, are proposed for in one pass.
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
  double Value(const TrunkTree& tree, int node) const;
  // The nodes of one pass.
  std::vector<Expansion> BestOf(const TrunkTree& tree,
                                std::vector<int> nodes) const;

  BestFirstOptions options_;
};

PolicyRow BestFirstRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_BEST_FIRST_H_
