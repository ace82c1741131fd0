// Drafting by copying (prompt lookup): what came after the same words before.
//
// At a node the text is the committed text and the node's path. Wherever its
// last k tokens, min_match <= k <= max_match, stand in the last `history`
// committed tokens, the token after them is a candidate. The path makes the
// text longer but is not looked in. Candidates are distinct and ranked by the
// longest match, then by the latest occurrence of it; the scores halve with the
// rank, so that a path's worth falls with every second choice.
//
// What it promises is as many tokens as match: a repetition that has lasted so
// long is as likely as not to last as long again.
//
// What differs from the published program (prompt lookup decoding, and the
// transformers library): it takes the earliest place of the longest match of 3
// to 1 tokens, once a round, and copies a span of 10 after it. Here each node
// looks for itself, and takes the latest place, where the text has been of
// late. With `first` it is the published rule (first_copy.h): `first: true,
// max_match: 3, min_match: 1, span: 10, history: 0`.
//
// An occurrence proves nothing about the law of what follows: the scores rank
// and are no law, so the draws are deterministic.
#ifndef BANYAN_DRAFTERS_TEXT_COPY_COPY_H_
#define BANYAN_DRAFTERS_TEXT_COPY_COPY_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/drafter.h"
#include "drafters/text/recent_grams.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct CopyOptions {
  int max_match = 8;
  int min_match = 2;
  int history = 512;  // tokens; 0: all
};

class Copy : public Drafter {
 public:
  // Keys: `max_match`, `min_match`, `history`; `first`, and with it `span`:
  // then it is a FirstCopy.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // 1 <= min_match <= max_match, and the history holds max_match + 1 tokens.
  Copy(int vocab_size, const CopyOptions& options);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Copy>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  std::optional<double> Promise(const Context& context) const override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  std::vector<TokenId> Candidates(absl::Span<const TokenId> text) const;

  int vocab_size_;
  CopyOptions options_;
  RecentGrams grams_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_COPY_COPY_H_
