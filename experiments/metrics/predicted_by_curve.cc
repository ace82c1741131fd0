// The speed at costs that somebody stated for another machine: the tokens that
// were recorded over the time that report/stated_costs.h gives their rounds,
// and the baseline's by the same costs. The key is the name of the costs.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

void CountPredictedByCurve(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || !pair.stated.has_value()) return;
  Part& part = counts.parts[pair.stated->costs];
  part.over += pair.record->tokens_size();
  part.under += pair.stated->ms;
  part.base_over += pair.baseline->tokens_size();
  part.base_under += pair.stated->baseline_ms;
}

}  // namespace banyan
