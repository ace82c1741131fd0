// The papers' c: what drafting costs in target passes of the baseline. "" is by
// level of the tree, which for a chain is by token; "pass" is by target pass.
// Prompts with rounds that a device ran alone, on either side, are left out.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountDrafterCost(const PromptPair& pair, Counts& counts) {
  if (pair.baseline == nullptr || pair.cell->trunks_size() == 0) return;
  if (HasDeviceRounds(*pair.record) || HasDeviceRounds(*pair.baseline)) return;
  double draft_ns = 0;
  double levels = 0;
  for (const records::Round& round : pair.record->rounds()) {
    draft_ns += DraftNs(round);
    levels += Levels(round);
  }
  const double base_ns = TargetNs(*pair.baseline);
  const double base_passes = pair.baseline->rounds_size();
  for (const char* key : {"", "pass"}) {
    Part& part = counts.parts[key];
    part.over += draft_ns;
    part.under += *key == 0 ? levels : pair.record->rounds_size();
    part.base_over += base_ns;
    part.base_under += base_passes;
  }
}

}  // namespace banyan
