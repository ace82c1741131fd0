// The mean overlap of target and draft where the verdict looked. Lists of laws
// that are none (NaN) are left out.
#include <cmath>

#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/rounds.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAlpha(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds())
    ForReachedLists(round, [&](const records::DrawList& list, int) {
      if (std::isnan(list.overlap())) return;
      Part& part = counts.parts[""];
      part.over += list.overlap();
      part.under += 1;
    });
}

}  // namespace banyan
