// Acceptance at depth d among the rounds that came that far: d - 1 tokens were
// accepted, and the last of them had a child.
#include "absl/strings/str_cat.h"
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

namespace {

// Probes aside.
bool HasChild(const records::Round& round, int node) {
  for (int child = 1; child < round.parents_size(); ++child)
    if (round.parents(child) == node && ProbeAt(round, child) == nullptr)
      return true;
  return false;
}

}  // namespace

void CountConditionalAcceptance(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds())
    for (int depth = 1; depth <= round.path_size() + 1; ++depth) {
      if (!HasChild(round, PathNode(round, depth - 1))) continue;
      Part& part = counts.parts[absl::StrCat("depth ", depth)];
      part.over += depth <= round.path_size() ? 1 : 0;
      part.under += 1;
    }
}

}  // namespace banyan
