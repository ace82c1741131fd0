// Whose tokens were accepted. A token of several trunks belongs to the first of
// them, which owns its node.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

namespace {

// The first trunk that proposed the node; -1: none did.
int FirstTrunk(const records::Round& round, int node) {
  int first = -1;
  for (const records::DrawList& list : round.lists())
    if (FirstDrawOf(list, node) >= 0 && (first < 0 || list.trunk() < first))
      first = list.trunk();
  return first;
}

}  // namespace

void CountAcceptanceByTrunk(const PromptPair& pair, Counts& counts) {
  for (int trunk = 0; trunk < pair.cell->trunks_size(); ++trunk)
    counts.parts[TrunkKey(*pair.cell, trunk)];
  for (const records::Round& round : pair.record->rounds())
    for (const int node : round.path()) {
      counts.every.under += 1;
      const int trunk = FirstTrunk(round, node);
      if (trunk >= 0) counts.parts[TrunkKey(*pair.cell, trunk)].over += 1;
    }
}

}  // namespace banyan
