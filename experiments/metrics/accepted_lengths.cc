// The histogram of accepted lengths, as verified.
#include "absl/strings/str_cat.h"
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAcceptedLengths(const PromptPair& pair, Counts& counts) {
  if (pair.cell->trunks_size() == 0) return;
  for (const records::Round& round : pair.record->rounds()) {
    counts.parts[absl::StrCat("length ", round.path_size())].over += 1;
    counts.every.under += 1;
  }
}

}  // namespace banyan
