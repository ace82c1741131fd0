// Unconditional acceptance: the papers' plots of "at least d accepted". Paths
// count as they were verified: what a stop rule cut was accepted all the same.
#include "absl/strings/str_cat.h"
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAcceptanceByDepth(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds()) {
    counts.every.under += 1;
    // Depths that were drafted and never accepted have a key too.
    const int levels = Levels(round);
    for (int depth = 1; depth <= levels; ++depth)
      counts.parts[absl::StrCat("depth ", depth)].over +=
          depth <= round.path_size() ? 1 : 0;
  }
}

}  // namespace banyan
