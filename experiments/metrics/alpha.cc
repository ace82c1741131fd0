// The mean overlap of target and draft where the verdict looked: how likely a
// list's first draw is accepted alone.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAlpha(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds())
    ForReachedLists(round, [&](const records::DrawList& list, int) {
      Part& part = counts.parts[""];
      part.over += list.overlap();
      part.under += 1;
    });
}

}  // namespace banyan
