// CountRule: applies a sampling rule to counts.
//
// Counts are a distribution in whole numbers. The rule's logits are the
// logarithms of their shares, of counted tokens only. At temperature t a
// token's mass is proportional to count^(1/t). At temperature 0 the
// distribution is one-hot: the token of the largest count.
#ifndef BANYAN_DRAFTERS_TEXT_COUNT_RULE_H_
#define BANYAN_DRAFTERS_TEXT_COUNT_RULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"

namespace banyan {

// Positive values beside ascending tokens.
struct CountRow {
  int vocab_size = 0;
  std::vector<TokenId> tokens;
  std::vector<double> values;
};

class CountRule {
 public:
  explicit CountRule(const SamplingRule& rule);

  bool greedy() const { return rule_.greedy(); }
  // True if the result depends on the text before.
  bool reads_text() const { return rule_.options().repetition_penalty != 1; }

  // Returns the proposal for a tree of this draw kind: the rule's distribution
  // after `history` and `path`, or for deterministic draws the counts, which
  // are ranked unless the rule changes nothing. Banned tokens are left out of
  // either; empty if nothing is left. Fails as SamplingRule::Apply.
  absl::StatusOr<Proposal> Apply(DrawKind draw_kind, CountRow counts,
                                 absl::Span<const TokenId> history,
                                 absl::Span<const TokenId> path) const;

 private:
  void LeaveOutBanned(CountRow& counts) const;

  SamplingRule rule_;  // without its bans
  std::vector<TokenId> banned_;
  bool keeps_counts_;  // the rule changes nothing
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_COUNT_RULE_H_
