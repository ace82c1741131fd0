// Accepted tokens per target pass, those that a stop rule cut left out.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAcceptedPerPass(const PromptPair& pair, Counts& counts) {
  if (pair.cell->trunks_size() == 0) return;
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    part.over += KeptOfPath(round);
    part.under += 1;
  }
}

}  // namespace banyan
