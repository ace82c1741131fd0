// Measured speed against the baseline: tokens over nanoseconds of the rounds,
// on both sides by the same counter (PromptRecord.tokens) and the same clock.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountSpeed(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr) return;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += RoundsNs(*pair.record);
  part.base_over += pair.baseline->tokens_size();
  part.base_under += RoundsNs(*pair.baseline);
}

}  // namespace banyan
