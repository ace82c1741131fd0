// Drafting by how often tokens stand in some texts, whatever came before: the
// first of the drafters of no cost (Leviathan et al., section 3.6).
//
// The counts come from a file that `banyan count` writes; a token that was
// never seen is never drafted. The rule applies as CountRule says.
#ifndef BANYAN_DRAFTERS_TEXT_UNIGRAM_UNIGRAM_H_
#define BANYAN_DRAFTERS_TEXT_UNIGRAM_UNIGRAM_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/token_counts.h"
#include "drafters/text/unigram_law.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Unigram : public Drafter {
 public:
  // Keys: `counts`, a file relative to the one that names it, and `sampling`
  // for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // Requires counts as token_counts.h has them.
  Unigram(std::shared_ptr<const TokenCounts> counts, const SamplingRule& rule);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Unigram>(*this);
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
  UnigramLaw law_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_UNIGRAM_UNIGRAM_H_
