// The counts of a cell, prompt by prompt, by key.
#ifndef BANYAN_EXPERIMENTS_METRICS_CELL_COUNTS_H_
#define BANYAN_EXPERIMENTS_METRICS_CELL_COUNTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

// For every key of any of the prompts, one part a prompt, in their order. The
// turns of a chat are one prompt, and so are the prompts of a batch.
using KeyedParts = std::map<std::string, std::vector<Part>, KeyLess>;

// What a metric says of a cell, by key. A key without a number is left out.
using KeyedEstimates = std::map<std::string, Estimate, KeyLess>;

KeyedParts CountPrompts(const MetricRow& metric,
                        absl::Span<const PromptPair> pairs);

KeyedEstimates EstimateAll(const MetricRow& metric,
                           absl::Span<const PromptPair> pairs);

// The pairs of the prompts that both have (number and id agree), in one order.
// Requires both in the order of numbers.
std::pair<std::vector<PromptPair>, std::vector<PromptPair>> CommonPrompts(
    absl::Span<const PromptPair> a, absl::Span<const PromptPair> b);

// The parts of both over the prompts they have in common, place by place.
// Prompts that share a batch on either side are one.
struct CommonParts {
  KeyedParts a;
  KeyedParts b;
};
CommonParts CountCommon(const MetricRow& metric, absl::Span<const PromptPair> a,
                        absl::Span<const PromptPair> b);

// a less b over the prompts they have in common, for the keys of both.
KeyedEstimates EstimateDifferences(const MetricRow& metric,
                                   absl::Span<const PromptPair> a,
                                   absl::Span<const PromptPair> b);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_CELL_COUNTS_H_
