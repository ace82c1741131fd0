// The speed of an oracle's chain at stated costs: what the rounds would have
// been worth had each drafted just the tokens it accepted, and so paid for no
// refused draft (Leviathan et al. 2022, section 3.5: gamma chosen anew each
// step by somebody who knows). It emits the same tokens in as many rounds; the
// target still judges them. With gamma the longest that was tried, rounds that
// accepted all of it would have gone on, so try long chains.
//
// Over predicted_by_curve of the best fixed chain it says what the best
// possible rule for stopping could still gain. Of cells with one trunk, decoded
// alone: who drafts for nothing in a merged tree, or how wide the pass of
// others would have been, the records do not say. The key is the name of the
// costs.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

void CountOracleByCurve(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || !pair.stated.has_value() ||
      !pair.stated->oracle_ms.has_value())
    return;
  Part& part = counts.parts[pair.stated->costs];
  part.over += pair.record->tokens_size();
  part.under += *pair.stated->oracle_ms;
  part.base_over += pair.baseline->tokens_size();
  part.base_under += pair.stated->baseline_ms;
}

}  // namespace banyan
