// What all other numbers rest on.
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

namespace banyan {

namespace {

// The counter of tokens that all metrics share.
void CountTokens(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under = 1;
}

// Rounds.
void CountRounds(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += pair.record->rounds_size();
  part.under = 1;
}

}  // namespace

std::vector<MetricRow> TotalsMetrics() {
  return {
      {"tokens", "Tokens counted.", "tokens", Form::kTotal, CountTokens},
      {"rounds", "Rounds, each a target pass.", "rounds", Form::kTotal,
       CountRounds},
  };
}

// How much is drafted and scored.

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

// What is held.

namespace {

constexpr double kBytesPerMib = 1 << 20;

// The largest memory of the process while one of the cell's prompts was
// decoded. Cells of one run share a process and its models; recording adds one
// row over the vocabulary (decode/target_rows.h).
void CountPeakMemory(const PromptPair& pair, Counts& counts) {
  if (pair.record->peak_memory_bytes() == 0) return;  // not measured
  Part& part = counts.parts[""];
  part.over =
      static_cast<double>(pair.record->peak_memory_bytes()) / kBytesPerMib;
  part.under = 1;
}

// Stores of one trunk in one unit are counted together.
void Add(const records::Store& store, const char* what, double count,
         Counts& counts) {
  Part& part = counts.parts[absl::StrCat("trunk ", store.trunk(), ": ",
                                         store.unit(), " ", what)];
  part.over += count;
  part.under = 1;
}

// What the drafters of a cell that carries state held at the most, from prompt
// to prompt, and how much they dropped to stay within their limits, by trunk.
void CountStores(const PromptPair& pair, Counts& counts) {
  for (const records::Store& store : pair.record->stores()) {
    Add(store, "held", static_cast<double>(store.held()), counts);
    Add(store, "dropped", static_cast<double>(store.dropped()), counts);
  }
}

}  // namespace

std::vector<MetricRow> MemoryMetrics() {
  return {
      {"peak_memory",
       "Peak memory of the process, all cells' models in it, while one of "
       "this cell's prompts was decoded.",
       "MiB", Form::kLargest, CountPeakMemory},
      {"stores",
       "What a trunk that learns from prompt to prompt held at the most, and "
       "dropped to stay within its limit.",
       "", Form::kLargest, CountStores},
  };
}

}  // namespace banyan
