// Tokens per target pass. A round is one pass of the target.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountTokensPerPass(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += pair.record->rounds_size();
}

}  // namespace banyan
