// Counts of tokens: the file of counts, the distribution of tokens that it
// states, and how a sampling rule applies to counts.
#ifndef BANYAN_DRAFTERS_TEXT_TOKEN_COUNTS_H_
#define BANYAN_DRAFTERS_TEXT_TOKEN_COUNTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

// How often each token stands in some texts, and each one after another: what
// `banyan make counts` writes and the drafters unigram and bigram read.
//
// The file is in the safetensors format, with exactly these tensors, for a
// vocabulary of V and N pairs of tokens that were seen:
//
//   unigram         I64 [V]      how often token t was seen
//   bigram.offsets  I64 [V + 1]  the tokens seen after t are entries
//                                offsets[t] to offsets[t + 1] - 1 of
//   bigram.tokens   I32 [N]      these, ascending for each t,
//   bigram.counts   I32 [N]      each seen so often after t, at least once

// The tensors of a file.
struct TokenCounts {
  std::vector<std::int64_t> unigram;
  std::vector<std::int64_t> offsets;
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> counts;
};

// Reads and checks the whole file. NotFound if there is none; InvalidArgument,
// which names the file, the tensor, what was found and what was expected, if it
// is not as above, counts nothing, or is not of `vocab_size` tokens.
absl::StatusOr<TokenCounts> ReadTokenCounts(const std::string& path,
                                            int vocab_size);

// Requires counts as above. Fails as SafetensorsWriter; no half a file is left.
absl::Status WriteTokenCounts(const std::string& path,
                              const TokenCounts& counts);

// CountRule: applies a sampling rule to counts.
//
// Counts are a distribution in whole numbers. The rule's logits are the
// logarithms of their shares, of counted tokens only. At temperature t a
// token's mass is proportional to count^(1/t). At temperature 0 the
// distribution is one-hot: the token of the largest count.

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

// UnigramLaw: the distribution of the tokens of some texts. Drafters that read
// a file of counts (`banyan make counts`) propose it where they know nothing of
// the token before. A token that was never seen has no mass. The rule applies
// as CountRule says.
class UnigramLaw {
 public:
  // Requires counts as token_counts.h has them.
  UnigramLaw(std::shared_ptr<const TokenCounts> counts,
             const SamplingRule& rule);

  // Returns the proposal after `history` and `path`. Made once for draws and
  // once for ranking, unless the rule reads the text.
  absl::StatusOr<Proposal> After(DrawKind draw_kind,
                                 absl::Span<const TokenId> history,
                                 absl::Span<const TokenId> path);

 private:
  const CountRow& Seen();

  std::shared_ptr<const TokenCounts> counts_;
  CountRule rule_;
  CountRow seen_;    // no vocabulary: not made yet
  Proposal law_;     // likewise
  Proposal scores_;  // likewise; for deterministic draws
};

struct CountsAndRule {
  std::shared_ptr<const TokenCounts> counts;
  SamplingRule rule;
};

// Reads the section of a drafter of counts, which has no other keys. The file
// is for the bench's target, and opened once.
absl::StatusOr<CountsAndRule> TakeCounts(ParamsReader& in, Workbench& bench);
std::vector<KeyRow> CountsKeys();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_TOKEN_COUNTS_H_
