// Rounds.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountRounds(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += pair.record->rounds_size();
  part.under = 1;
}

}  // namespace banyan
