// Drafting by how often tokens stand in some texts, whatever came before: the
// first of the drafters of no cost (Leviathan et al., section 3.6).
//
// The counts come from a file that `banyan make counts` writes; a token that
// was never seen is never drafted. The rule applies as CountRule says.
#ifndef BANYAN_DRAFTERS_TEXT_UNIGRAM_UNIGRAM_H_
#define BANYAN_DRAFTERS_TEXT_UNIGRAM_UNIGRAM_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/token_counts.h"

namespace banyan {

class Unigram : public Drafter {
 public:
  // Requires counts as token_counts.h has them.
  Unigram(std::shared_ptr<const TokenCounts> counts, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<BlankSession>();
  }
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  UnigramLaw law_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_UNIGRAM_UNIGRAM_H_
