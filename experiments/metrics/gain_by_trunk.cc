// What a trunk adds to the others: accepted tokens that it alone proposed.
// Those behind them on the path count for whoever proposed them.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

namespace {

// The one trunk that proposed the node; -1: none did, or several.
int OnlyTrunk(const records::Round& round, int node) {
  int only = -1;
  for (const records::DrawList& list : round.lists()) {
    if (FirstDrawOf(list, node) < 0 || list.trunk() == only) continue;
    if (only >= 0) return -1;
    only = list.trunk();
  }
  return only;
}

}  // namespace

void CountGainByTrunk(const PromptPair& pair, Counts& counts) {
  for (int trunk = 0; trunk < pair.cell->trunks_size(); ++trunk)
    counts.parts[TrunkKey(*pair.cell, trunk)];
  for (const records::Round& round : pair.record->rounds()) {
    counts.every.under += 1;
    for (const int node : round.path()) {
      const int trunk = OnlyTrunk(round, node);
      if (trunk >= 0) counts.parts[TrunkKey(*pair.cell, trunk)].over += 1;
    }
  }
}

}  // namespace banyan
