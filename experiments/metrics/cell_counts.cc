#include "experiments/metrics/cell_counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// The place of each pair's part: a chat's turns share one, and so do the
// prompts of a batch, whose times depend on each other.
std::vector<std::size_t> Places(absl::Span<const PromptPair> pairs) {
  std::map<std::string, std::size_t> chats;  // by id
  std::map<std::uint32_t, std::size_t> batches;
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (const PromptPair& pair : pairs) {
    const records::PromptRecord& record = *pair.record;
    const auto chat = chats.find(record.id());
    const auto batch = batches.find(record.batch());
    if (record.turn() > 0 && chat != chats.end())
      places.push_back(chat->second);
    else if (record.batch() > 0 && batch != batches.end())
      places.push_back(batch->second);
    else
      places.push_back(next++);
    chats[record.id()] = places.back();
    batches[record.batch()] = places.back();
  }
  return places;
}

}  // namespace

KeyedParts CountPrompts(const MetricRow& metric,
                        absl::Span<const PromptPair> pairs) {
  const std::vector<std::size_t> places = Places(pairs);
  const std::size_t size =
      places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1;
  KeyedParts keyed;
  std::vector<Part> every(size);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Counts counts;
    metric.count(pairs[i], counts);
    Add(metric.form, counts.every, every[places[i]]);
    for (const auto& [key, part] : counts.parts) {
      std::vector<Part>& parts = keyed[key];
      parts.resize(size);
      Add(metric.form, part, parts[places[i]]);
    }
  }
  for (auto& [key, parts] : keyed)
    for (std::size_t i = 0; i < size; ++i) Add(metric.form, every[i], parts[i]);
  return keyed;
}

KeyedEstimates EstimateAll(const MetricRow& metric,
                           absl::Span<const PromptPair> pairs,
                           Bootstrap& bootstrap) {
  KeyedEstimates estimates;
  for (const auto& [key, parts] : CountPrompts(metric, pairs)) {
    const std::optional<Estimate> estimate = bootstrap.Of(metric.form, parts);
    if (estimate.has_value()) estimates.emplace(key, *estimate);
  }
  return estimates;
}

std::pair<std::vector<PromptPair>, std::vector<PromptPair>> CommonPrompts(
    absl::Span<const PromptPair> a, absl::Span<const PromptPair> b) {
  std::pair<std::vector<PromptPair>, std::vector<PromptPair>> common;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const records::PromptRecord& left = *a[i].record;
    const records::PromptRecord& right = *b[j].record;
    if (left.prompt() == right.prompt() && left.id() == right.id()) {
      common.first.push_back(a[i]);
      common.second.push_back(b[j]);
    }
    if (left.prompt() <= right.prompt()) ++i;
    if (right.prompt() <= left.prompt()) ++j;
  }
  return common;
}

KeyedEstimates EstimateDifferences(const MetricRow& metric,
                                   absl::Span<const PromptPair> a,
                                   absl::Span<const PromptPair> b,
                                   Bootstrap& bootstrap) {
  const auto [left, right] = CommonPrompts(a, b);
  const KeyedParts parts = CountPrompts(metric, left);
  const KeyedParts others = CountPrompts(metric, right);
  KeyedEstimates estimates;
  for (const auto& [key, part] : parts) {
    const auto other = others.find(key);
    if (other == others.end()) continue;
    const std::optional<Estimate> estimate =
        bootstrap.Difference(metric.form, part, other->second);
    if (estimate.has_value()) estimates.emplace(key, *estimate);
  }
  return estimates;
}

}  // namespace banyan
