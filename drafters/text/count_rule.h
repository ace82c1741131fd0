// CountRule: what a sampling rule makes of counts.
//
// Counts are a law in whole numbers. The rule's logits are the logarithms of
// their shares, of the tokens that were counted at all: at temperature t a
// token's mass goes as count^(1/t), at temperature 0 the law is the largest
// count's token.
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
  // True if what it makes depends on the text before.
  bool reads_text() const { return rule_.options().repetition_penalty != 1; }

  // The proposal for a tree that draws by `law`: the rule's law after `history`
  // and `path`, or for deterministic draws the counts themselves as scores.
  // Banned tokens are left out of either; empty if nothing is left. Fails as
  // SamplingRule::Apply.
  absl::StatusOr<Distribution> Apply(DraftLaw law, CountRow counts,
                                     absl::Span<const TokenId> history,
                                     absl::Span<const TokenId> path) const;

 private:
  void LeaveOutBanned(CountRow& counts) const;

  SamplingRule rule_;  // without its bans
  std::vector<TokenId> banned_;
  bool keeps_counts_;  // the rule's law is the counts'
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_COUNT_RULE_H_
