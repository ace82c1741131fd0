// Drafting by the tokens that followed the last one in some texts (Leviathan et
// al., section 3.6):
//
//   q(x | t) = c(t x) / c(t *), or the unigram distribution if c(t *) = 0.
//
// The counts come from a file that `banyan make counts` writes. The rule
// applies as CountRule says.
#ifndef BANYAN_DRAFTERS_TEXT_BIGRAM_BIGRAM_H_
#define BANYAN_DRAFTERS_TEXT_BIGRAM_BIGRAM_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/token_counts.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class Bigram : public Drafter {
 public:
  // Requires counts as token_counts.h has them.
  Bigram(std::shared_ptr<const TokenCounts> counts, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<BlankSession>();
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  // By the token before; a row is made when it is first asked for.
  using Rows = absl::flat_hash_map<TokenId, Proposal>;

  absl::StatusOr<Proposal> ProposalAfter(TokenId token, DrawKind draw_kind,
                                         absl::Span<const TokenId> history,
                                         absl::Span<const TokenId> path);
  CountRow RowOf(TokenId token) const;

  std::shared_ptr<const TokenCounts> counts_;
  CountRule rule_;
  UnigramLaw unigram_;
  Rows laws_;
  Rows scores_;  // for deterministic draws
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_BIGRAM_BIGRAM_H_
