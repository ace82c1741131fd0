// Milliseconds a token as the one who asked sees it: from a prompt's admission
// to its end, over its tokens. Alone that is all of its time; in a batch the
// passes of the others are in it.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

void CountLatency(const PromptPair& pair, Counts& counts) {
  constexpr double kNsPerMs = 1e6;
  Part& part = counts.parts[""];
  part.over += LatencyNs(*pair.record) / kNsPerMs;
  part.under += pair.record->tokens_size();
}

}  // namespace banyan
