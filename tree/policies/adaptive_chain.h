// A chain whose length adapts: to the drafter's confidence within a round, and
// to the verdicts from round to round.
#ifndef BANYAN_TREE_POLICIES_ADAPTIVE_CHAIN_H_
#define BANYAN_TREE_POLICIES_ADAPTIVE_CHAIN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

// What to do when confidence falls below the threshold. All three keep the law
// of the draws honest (docs/losslessness.md):
enum class OnLow {
  kKeepAndStop,  // the drawn token had little mass: keep it, draw no further
  kDrop,         // drop it: a refused round, judged by the kept tokens' masses
  kStopBefore,   // the largest mass is small: stop without drawing
};

struct AdaptiveChainOptions {
  int gamma = 1;  // the longest chain; with `adjust`, the first one
  // Confidence is the proposal's mass of the drawn token (its largest mass, for
  // kStopBefore). 0 never stops. The default is that of Hugging Face's assisted
  // generation, whose +2/-1 rule `adjust` is.
  double threshold = 0.4;
  OnLow on_low = OnLow::kKeepAndStop;
  // After a round that kept the whole chain two tokens more, after any other
  // one less, between 1 and max_gamma. Dropped draws do not count; a round
  // without a drafted token changes nothing.
  bool adjust = false;
  int max_gamma = 64;
};

class AdaptiveChain : public TreePolicy {
 public:
  // Keys: `gamma`, `threshold`, `on_low`, `adjust`, `max_gamma`.
  static absl::StatusOr<std::unique_ptr<TreePolicy>> Build(ParamsReader& in);

  explicit AdaptiveChain(const AdaptiveChainOptions& options)
      : options_(options), length_(options.gamma) {}

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<AdaptiveChain>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  void Observe(const RoundOutcome& outcome) override;
  std::vector<double> State() const override;
  void SetState(const std::vector<double>& state) override;

 private:
  bool Confident(const TrunkTree& tree, int last) const;

  AdaptiveChainOptions options_;
  int length_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_ADAPTIVE_CHAIN_H_
