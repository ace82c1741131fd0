// Tokens over wall time, prefills included, against the baseline, whose cell
// decodes as many prompts at a time.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

void CountWallSpeed(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr) return;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += WallNs(*pair.record);
  part.base_over += pair.baseline->tokens_size();
  part.base_under += WallNs(*pair.baseline);
}

}  // namespace banyan
