// Drafting by which token followed the last one in some texts (Leviathan et
// al., section 3.6):
//
//   q(x | t) = c(t x) / c(t *), or the unigram law if nothing ever followed t.
//
// The counts come from a file that `banyan count` writes. The rule applies as
// CountRule says.
#ifndef BANYAN_DRAFTERS_TEXT_BIGRAM_BIGRAM_H_
#define BANYAN_DRAFTERS_TEXT_BIGRAM_BIGRAM_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/token_counts.h"
#include "drafters/text/unigram_law.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Bigram : public Drafter {
 public:
  // Keys: as Unigram.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // Requires counts as token_counts.h has them.
  Bigram(std::shared_ptr<const TokenCounts> counts, const SamplingRule& rule);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Bigram>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  // By the token before; a row is made when it is first asked for.
  using Rows = absl::flat_hash_map<TokenId, Distribution>;

  absl::StatusOr<Distribution> ProposalAfter(TokenId token, DraftLaw law,
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
