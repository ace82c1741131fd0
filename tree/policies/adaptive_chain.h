// AdaptiveChain: a chain whose length adapts to the drafter's confidence within
// a round, and to the verdicts from round to round. Verdicts change committed
// state alone, so they do not affect a round that has begun.
#ifndef BANYAN_TREE_POLICIES_ADAPTIVE_CHAIN_H_
#define BANYAN_TREE_POLICIES_ADAPTIVE_CHAIN_H_

#include <memory>
#include <vector>

#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// What to do when confidence falls below the threshold. All three keep the rule
// of tree_policy.h, and so the output distribution (docs/losslessness.md):
enum class OnLow {
  kKeepAndStop,  // the drawn token had little mass: keep it, draw no further
  kDrop,         // drop it: a refused round, judged by the kept tokens' masses
  kStopBefore,   // the largest mass is small: stop without drawing, and leave
                 // the token to the target (BiLD's fallback)
};

struct AdaptiveChainOptions {
  int nodes = 1;  // the longest chain; with `adjust`, the first one
  // Confidence is the proposal's mass of the drawn token (its largest mass, for
  // kStopBefore). 0 never stops. The default is that of Hugging Face's assisted
  // generation, whose +2/-1 rule `adjust` is.
  double threshold = 0.4;
  OnLow on_low = OnLow::kKeepAndStop;
  // After a round that kept the whole chain two tokens more, after any other
  // one less, between 1 and max_nodes. Dropped draws do not count; a round
  // without a drafted token changes nothing.
  bool adjust = false;
  int max_nodes = 64;
  // Above 0: after each round the threshold moves by `step`, within [0, 1], so
  // that about this share of the drafted tokens is accepted (Draft & Verify,
  // Zhang et al. 2023). With a the mean of the rounds' shares, half of it the
  // last one's, up if a < goal, else down; not down after a chain of full
  // length, which could not have been longer. Needs kKeepAndStop, which drafts
  // a token in every round. The default step is what is published: 0.01,
  // a tenth of which counts.
  double goal = 0;
  double step = 0.001;
};

class AdaptiveChain : public TreePolicy {
 public:
  explicit AdaptiveChain(const AdaptiveChainOptions& options)
      : options_(options),
        length_(options.nodes),
        threshold_(options.threshold) {}

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<AdaptiveChain>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  void Observe(const RoundOutcome& outcome) override;
  std::vector<double> State() const override;

 private:
  bool Confident(const TrunkTree& tree, int last) const;
  bool learns() const { return options_.adjust || options_.goal > 0; }
  void Refit(int drafted, int accepted);

  AdaptiveChainOptions options_;
  int length_;
  double threshold_;
  double accepted_share_ = 0;  // the mean; from 0, as published
};

PolicyRow AdaptiveChainRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_ADAPTIVE_CHAIN_H_
