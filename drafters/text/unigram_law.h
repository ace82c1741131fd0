// UnigramLaw: the distribution of the tokens of some texts. Drafters that read
// a file of counts (`banyan make counts`) propose it where they know nothing of
// the token before. A token that was never seen has no mass. The rule applies
// as CountRule says.
#ifndef BANYAN_DRAFTERS_TEXT_UNIGRAM_LAW_H_
#define BANYAN_DRAFTERS_TEXT_UNIGRAM_LAW_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/keys.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/text/count_rule.h"
#include "drafters/text/token_counts.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

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

#endif  // BANYAN_DRAFTERS_TEXT_UNIGRAM_LAW_H_
