// What is held.
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/themes.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

constexpr double kBytesPerMib = 1 << 20;

// The largest memory of the process while one of the cell's prompts was
// decoded. Cells of one run share a process and its models; recording adds one
// row over the vocabulary (decode/target_facts.h).
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
