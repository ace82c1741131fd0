#include "experiments/metrics/cell_counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// Who `i` stands for.
std::size_t Root(std::vector<std::size_t>& parents, std::size_t i) {
  while (parents[i] != i) i = parents[i] = parents[parents[i]];
  return i;
}

// The place of each prompt's part: a chat's turns share one, and so do the
// prompts of a batch, whose times depend on each other. Of several sides, each
// with the same prompts, what shares a place on one of them does.
std::vector<std::size_t> Places(
    std::initializer_list<absl::Span<const PromptPair>> sides) {
  std::vector<std::size_t> parents(sides.begin()->size());
  std::iota(parents.begin(), parents.end(), 0);
  for (absl::Span<const PromptPair> side : sides) {
    std::map<std::string, std::size_t> chats;  // by id
    std::map<std::uint32_t, std::size_t> batches;
    const auto join = [&](std::size_t i, std::size_t first) {
      i = Root(parents, i);
      first = Root(parents, first);
      parents[std::max(i, first)] = std::min(i, first);
    };
    for (std::size_t i = 0; i < side.size(); ++i) {
      const records::PromptRecord& record = *side[i].record;
      // A chat's first turn names it; a later one of an id follows it.
      const auto chat = chats.try_emplace(record.id(), i).first;
      if (record.turn() > 0)
        join(i, chat->second);
      else
        chat->second = i;
      if (record.batch() > 0)
        join(i, batches.try_emplace(record.batch(), i).first->second);
    }
  }
  std::vector<std::size_t> places(parents.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t root = Root(parents, i);  // not after i
    places[i] = root == i ? next++ : places[root];
  }
  return places;
}

KeyedParts CountAt(const std::vector<std::size_t>& places,
                   const MetricRow& metric,
                   absl::Span<const PromptPair> pairs) {
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

}  // namespace

KeyedParts CountPrompts(const MetricRow& metric,
                        absl::Span<const PromptPair> pairs) {
  return CountAt(Places({pairs}), metric, pairs);
}

KeyedEstimates EstimateAll(const MetricRow& metric,
                           absl::Span<const PromptPair> pairs) {
  KeyedEstimates estimates;
  for (const auto& [key, parts] : CountPrompts(metric, pairs)) {
    const std::optional<Estimate> estimate = EstimateOf(metric.form, parts);
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

CommonParts CountCommon(const MetricRow& metric, absl::Span<const PromptPair> a,
                        absl::Span<const PromptPair> b) {
  const auto [left, right] = CommonPrompts(a, b);
  const std::vector<std::size_t> places = Places({left, right});
  return {CountAt(places, metric, left), CountAt(places, metric, right)};
}

KeyedEstimates EstimateDifferences(const MetricRow& metric,
                                   absl::Span<const PromptPair> a,
                                   absl::Span<const PromptPair> b) {
  const auto [parts, others] = CountCommon(metric, a, b);
  KeyedEstimates estimates;
  for (const auto& [key, part] : parts) {
    const auto other = others.find(key);
    if (other == others.end()) continue;
    const std::optional<Estimate> estimate =
        EstimateDifference(metric.form, part, other->second);
    if (estimate.has_value()) estimates.emplace(key, *estimate);
  }
  return estimates;
}

}  // namespace banyan
