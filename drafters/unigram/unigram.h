// Drafting by how often tokens stand in some texts, whatever came before: the
// first of the drafters of no cost (Leviathan et al., section 3.6).
//
// The counts come from a file that `banyan count` writes; a token that was
// never seen is never drafted. The rule applies as CountRule says.
#ifndef BANYAN_DRAFTERS_UNIGRAM_UNIGRAM_H_
#define BANYAN_DRAFTERS_UNIGRAM_UNIGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/context.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/token_counts.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/count_rule.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Unigram : public Drafter {
 public:
  // Keys: `counts`, a file relative to the one that names it, and `sampling`
  // for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // One count a token of the vocabulary.
  Unigram(const std::vector<std::int64_t>& counts, const SamplingRule& rule);

  // The proposal anywhere after `history` and `path`. Made once for each law,
  // unless the rule looks at the text.
  absl::StatusOr<Distribution> Proposal(DraftLaw law,
                                        absl::Span<const TokenId> history,
                                        absl::Span<const TokenId> path);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Unigram>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const GrowingTree& tree,
      absl::Span<const int> nodes) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  CountRow counts_;
  CountRule rule_;
  Distribution law_;     // no vocabulary: not made yet
  Distribution scores_;  // likewise; for deterministic draws
};

// The file that stands at `file`, for the bench's target; what is wrong with it
// is an error at that place.
absl::StatusOr<TokenCounts> ReadCounts(const Params& file,
                                       const Workbench& bench);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_UNIGRAM_UNIGRAM_H_
