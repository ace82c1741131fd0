// What the output is to the target.
#include <cstddef>
#include <optional>
#include <vector>

#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

namespace banyan {
namespace {

// The first token that is not the baseline's, which at temperature 0 a lossless
// method must not have. "prompts" is the share that differ, "place" the mean
// number of equal tokens before, "logit gap" how far the baseline's best token
// lay above its second there: a tiny gap hints at rounding, a large one at a
// fault.
void CountDivergence(const PromptPair& pair, Counts& counts) {
  const std::optional<std::size_t> place = FirstDifference(pair);
  if (!place.has_value()) return;
  Part& share = counts.parts["prompts"];
  share.over += Differs(pair) ? 1 : 0;
  share.under += 1;
  if (!Differs(pair)) return;
  Part& mean = counts.parts["place"];
  mean.over += static_cast<double>(*place);
  mean.under += 1;
  const int at = static_cast<int>(*place);
  if (at >= pair.baseline->logit_gap_size()) return;
  Part& gap = counts.parts["logit gap"];
  gap.over += pair.baseline->logit_gap(at);
  gap.under += 1;
}

// How likely the target finds the output, at temperature 1 and without
// truncation: what a lossy method pays with.
void CountLogProbability(const PromptPair& pair, Counts& counts) {
  if (pair.record->log_probability_size() == 0) return;
  Part& part = counts.parts[""];
  for (const double value : pair.record->log_probability()) part.over += value;
  part.under += pair.record->log_probability_size();
}

}  // namespace

std::vector<MetricRow> TextMetrics() {
  return {
      {"divergence",
       "At temperature 0: share of the prompts whose tokens differ from the "
       "baseline's, where first, and the baseline's logit gap there.",
       "", Form::kRatio, CountDivergence},
      {"log_probability",
       "Mean log-probability of the output under the target.", "nats",
       Form::kRatio, CountLogProbability},
  };
}

}  // namespace banyan
