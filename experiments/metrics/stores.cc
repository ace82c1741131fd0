// What the drafters of a cell that carries state held at the most, from prompt
// to prompt, and how much they dropped to stay within their limits, by trunk.
#include "absl/strings/str_cat.h"
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// Stores of one trunk in one unit are counted together.
void Add(const records::Store& store, const char* what, double count,
         Counts& counts) {
  Part& part = counts.parts[absl::StrCat("trunk ", store.trunk(), ": ",
                                         store.unit(), " ", what)];
  part.over += count;
  part.under = 1;
}

}  // namespace

void CountStores(const PromptPair& pair, Counts& counts) {
  for (const records::Store& store : pair.record->stores()) {
    Add(store, "held", static_cast<double>(store.held()), counts);
    Add(store, "dropped", static_cast<double>(store.dropped()), counts);
  }
}

}  // namespace banyan
