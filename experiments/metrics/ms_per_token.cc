// Milliseconds a token, all phases of the rounds counted.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

namespace {

constexpr double kNsPerMs = 1e6;

}  // namespace

void CountMsPerToken(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += RoundsNs(*pair.record) / kNsPerMs;
  part.under += pair.record->tokens_size();
}

}  // namespace banyan
