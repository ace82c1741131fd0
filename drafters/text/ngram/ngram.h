// Drafting by n-gram counts of the text itself: what followed the last tokens
// where they stood before (the n-gram predictor of akunu, "Speculative Decoding
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
// path is a context but is never counted: what is drafted has not been said.
//
// Deterministic draws rank by count, equal counts by the later occurrence; so
// does the point mass proposed under a greedy rule, which is that
// predictor. Other rules apply as CountRule says.
//
// It keeps a count after its tokens have left the window, and hashes contexts.
// Here the counts are those of the window, and contexts are exact.
#ifndef BANYAN_DRAFTERS_TEXT_NGRAM_NGRAM_H_
#define BANYAN_DRAFTERS_TEXT_NGRAM_NGRAM_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct NGramOptions {
  int max_order = 4;  // these three are akunu's
  int min_order = 2;
  int history = 512;  // tokens; 0: all
  // What was counted in one prompt stays for the next. No gram goes from one
  // into the other.
  bool keep_counts = false;
};

class NGram : public Drafter {
 public:
  // Keys: `max_order`, `min_order`, `history`, `reset` (prompt or never), and
  // `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // 2 <= min_order <= max_order, and the history holds max_order tokens.
  NGram(int vocab_size, const NGramOptions& options, const SamplingRule& rule);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<NGram>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  bool carries_state() const override { return options_.keep_counts; }
  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override;
  std::vector<Carried> carried() const override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  absl::Span<const Continuation> AfterLongest(
      absl::Span<const TokenId> text) const;
  CountRow ToCounts(absl::Span<const Continuation> row, bool by_recency) const;

  int vocab_size_;
  NGramOptions options_;
  CountRule rule_;
  RecentGrams grams_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_NGRAM_NGRAM_H_
