// How much is drafted and scored.
#include <cstddef>
#include <vector>

#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/metrics/themes.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// The size of the trees, without their roots and probes.
void CountDraftedNodes(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    part.over += DraftedNodes(round);
    part.under += 1;
  }
}

// What a round costs the target in rows: a shared pass's are charged alike to
// all who shared it.
void CountRowsPerPass(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    part.over += static_cast<double>(PassTokens(round)) / Sequences(round);
    part.under += 1;
  }
}

// What merging saves: draws that were kept, less the nodes that hold them.
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

}  // namespace

std::vector<MetricRow> SizesMetrics() {
  return {
      {"drafted_nodes", "Nodes a round drafted, the root not counted.", "nodes",
       Form::kRatio, CountDraftedNodes},
      {"rows_per_pass",
       "Rows that the target scored for a round: root, drafted nodes, probes, "
       "and copies of them where paths are not merged.",
       "rows", Form::kRatio, CountRowsPerPass},
      {"nodes_saved",
       "Nodes a round did not score because draws of one token share one.",
       "nodes", Form::kRatio, CountNodesSaved},
  };
}

}  // namespace banyan
