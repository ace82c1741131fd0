// The size of the trees, without their roots and probes.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountDraftedNodes(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    part.over += DraftedNodes(round);
    part.under += 1;
  }
}

}  // namespace banyan
