// Drafting by n-gram counts of the text itself: proposes what followed the last
// tokens earlier in it (the n-gram predictor of akunu, "Speculative Decoding
// with N-grams").
//
// Counts are kept of the grams of orders `min_order` to `max_order` in the last
// `history` committed tokens: an order-n gram is a context of n - 1 tokens and
// the token after it. At a node, the context is what ends the committed text
// and the node's path; the counts after its longest part that has any are the
// proposal:
//
//   q(x | t1 .. tm) = c(tk .. tm x) / c(tk .. tm *),
//   the least k with m - k + 1 < max_order and c(tk .. tm *) > 0,
//
// nothing if not even the last min_order - 1 tokens have been followed. The
// path is a context but is never counted: draft tokens are not text yet.
//
// Deterministic draws rank by count, equal counts by the later occurrence; so
// does the point mass proposed under a greedy rule, which is that
// predictor. Other rules apply as CountRule says.
//
// The predictor keeps a count after its tokens have left the window, and hashes
// contexts. Here the counts are those of the window, and contexts are exact.
#ifndef BANYAN_DRAFTERS_TEXT_NGRAM_NGRAM_H_
#define BANYAN_DRAFTERS_TEXT_NGRAM_NGRAM_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/recent_grams.h"
#include "drafters/text/token_counts.h"

namespace banyan {

struct NGramOptions {
  int max_order = 4;  // these three are akunu's
  int min_order = 2;
  int history = 512;  // tokens; 0: all
  // What was counted in one prompt stays for the next. No gram goes from one
  // into the other.
  bool keep_counts = false;
};

class NGram : public Drafter, private CarriedState {
 public:
  // 2 <= min_order <= max_order, and the history holds max_order tokens.
  NGram(int vocab_size, const NGramOptions& options, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override;
  absl::Status CheckLesson(absl::Span<const TokenId> text,
                           absl::string_view learnt) const override;
  std::vector<Carried> holdings() const override;

  int vocab_size_;
  NGramOptions options_;
  CountRule rule_;
  RecentGrams grams_;  // of earlier prompts
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_NGRAM_NGRAM_H_
