// What a round costs the target in rows: a shared pass's are charged alike to
// all who shared it.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountRowsPerPass(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    part.over += static_cast<double>(PassTokens(round)) / Sequences(round);
    part.under += 1;
  }
}

}  // namespace banyan
