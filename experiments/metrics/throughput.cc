// Tokens a second of the cell's wall time, prefills included: what a cell that
// decodes several prompts at a time gives all of them together.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

void CountThroughput(const PromptPair& pair, Counts& counts) {
  constexpr double kNsPerSecond = 1e9;
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += WallNs(*pair.record) / kNsPerSecond;
}

}  // namespace banyan
