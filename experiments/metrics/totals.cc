// What all other numbers rest on.
#include <vector>

#include "experiments/metrics/metric.h"
#include "experiments/metrics/themes.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

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

}  // namespace banyan
