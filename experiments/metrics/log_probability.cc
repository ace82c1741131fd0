// How likely the target finds the output, at temperature 1 and without
// truncation: what a lossy method pays with.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountLogProbability(const PromptPair& pair, Counts& counts) {
  if (pair.record->log_probability_size() == 0) return;
  Part& part = counts.parts[""];
  for (const double value : pair.record->log_probability()) part.over += value;
  part.under += pair.record->log_probability_size();
}

}  // namespace banyan
