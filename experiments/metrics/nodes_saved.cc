// What merging saves: draws that were kept, less the nodes that hold them.
#include <cstddef>
#include <vector>

#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountNodesSaved(const PromptPair& pair, Counts& counts) {
  if (pair.cell->trunks_size() == 0) return;
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    std::vector<bool> held(static_cast<std::size_t>(round.tokens_size()));
    part.under += 1;
    for (const records::DrawList& list : round.lists())
      for (const int child : list.children()) {
        if (child < 0) continue;
        const auto node = static_cast<std::size_t>(child);
        part.over += held[node] ? 1 : 0;
        held[node] = true;
      }
  }
}

}  // namespace banyan
