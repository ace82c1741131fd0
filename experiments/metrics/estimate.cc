#include "experiments/metrics/estimate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>

#include "core/base/check.h"
#include "experiments/records/record.pb.h"

namespace banyan {

namespace {

using StudentsT = boost::math::students_t_distribution<double>;

constexpr double kLevel = 0.05;

bool HasInterval(Form form) {
  return form == Form::kRatio || form == Form::kRelative;
}

Part SumOf(Form form, absl::Span<const Part> parts) {
  Part sum;
  for (const Part& part : parts) Add(form, part, sum);
  return sum;
}

Part Without(const Part& sum, const Part& part) {
  return {.over = sum.over - part.over,
          .under = sum.under - part.under,
          .base_over = sum.base_over - part.base_over,
          .base_under = sum.base_under - part.base_under};
}

// How far off the level is that is not exceeded by chance.
double Critical(double degrees, double level) {
  return quantile(complement(StudentsT(degrees), level / 2));
}

// A number without each prompt, and what each prompt weighs.
struct Jackknife {
  std::vector<double> numbers;
  std::vector<double> weights;  // that add up to anything

  double Error() const {
    const auto n = static_cast<double>(numbers.size());
    const double mean =
        std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
    double squares = 0;
    for (const double number : numbers) squares += std::pow(number - mean, 2);
    return std::sqrt((n - 1) / n * squares);
  }

  double Degrees() const {
    double sum = 0;
    double squares = 0;
    for (const double weight : weights) {
      sum += weight;
      squares += weight * weight;
    }
    return std::max(1.0, sum * sum / squares - 1);
  }
};

// A part's shares of what is divided by.
double WeightOf(Form form, const Part& part, const Part& sum) {
  const double own = part.under / sum.under;
  return form == Form::kRelative ? own + part.base_under / sum.base_under : own;
}

std::optional<double> Log(const std::optional<double>& value) {
  if (!value.has_value() || *value <= 0) return std::nullopt;
  return std::log(*value);
}

// None if one of the numbers does not exist.
template <typename NumberWithout>
std::optional<Jackknife> Leave(const std::vector<std::size_t>& places,
                               const NumberWithout& number_without) {
  Jackknife jackknife;
  for (const std::size_t place : places) {
    const std::optional<double> number = number_without(place);
    if (!number.has_value() || !std::isfinite(*number)) return std::nullopt;
    jackknife.numbers.push_back(*number);
  }
  return jackknife;
}

}  // namespace

std::optional<Estimate> EstimateOf(Form form, absl::Span<const Part> parts) {
  const Part sum = SumOf(form, parts);
  const std::optional<double> value = Value(form, sum);
  if (!value.has_value()) return std::nullopt;
  std::vector<std::size_t> places;
  bool positive = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!Contributes(form, parts[i])) continue;
    places.push_back(i);
    positive = positive && parts[i].over >= 0;
  }
  Estimate estimate = {.value = *value,
                       .prompts = static_cast<int>(places.size())};
  if (!HasInterval(form) || places.size() < 2 || !std::isfinite(*value))
    return estimate;
  // Times as much and a part of it are as far off as each other.
  const bool by_factor = form == Form::kRelative && *value > 0;
  std::optional<Jackknife> jackknife = Leave(places, [&](std::size_t place) {
    const std::optional<double> number =
        Value(form, Without(sum, parts[place]));
    return by_factor ? Log(number) : number;
  });
  if (!jackknife.has_value()) return estimate;
  for (const std::size_t place : places)
    jackknife->weights.push_back(WeightOf(form, parts[place], sum));
  const double reach =
      Critical(jackknife->Degrees(), kLevel) * jackknife->Error();
  if (by_factor) {
    estimate.interval = {*value * std::exp(-reach), *value * std::exp(reach)};
  } else {
    estimate.interval = {*value - reach, *value + reach};
    if (positive) estimate.interval->low = std::max(0.0, *value - reach);
  }
  return estimate;
}

std::optional<Estimate> EstimateDifference(Form form, absl::Span<const Part> a,
                                           absl::Span<const Part> b) {
  Check(a.size() == b.size(), "parts of the same prompts");
  const Part sum_a = SumOf(form, a);
  const Part sum_b = SumOf(form, b);
  const auto minus = [form](const Part& one,
                            const Part& other) -> std::optional<double> {
    const std::optional<double> left = Value(form, one);
    const std::optional<double> right = Value(form, other);
    if (!left.has_value() || !right.has_value() || std::isnan(*left - *right))
      return std::nullopt;
    return *left - *right;
  };
  const std::optional<double> value = minus(sum_a, sum_b);
  if (!value.has_value()) return std::nullopt;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (Contributes(form, a[i]) || Contributes(form, b[i])) places.push_back(i);
  Estimate estimate = {.value = *value,
                       .prompts = static_cast<int>(places.size())};
  if (!HasInterval(form) || places.size() < 2 || !std::isfinite(*value))
    return estimate;
  std::optional<Jackknife> jackknife = Leave(places, [&](std::size_t place) {
    return minus(Without(sum_a, a[place]), Without(sum_b, b[place]));
  });
  if (!jackknife.has_value()) return estimate;
  for (const std::size_t place : places)
    jackknife->weights.push_back(WeightOf(form, a[place], sum_a) +
                                 WeightOf(form, b[place], sum_b));
  const double error = jackknife->Error();
  const double degrees = jackknife->Degrees();
  const double reach = Critical(degrees, kLevel) * error;
  estimate.interval = {*value - reach, *value + reach};
  if (error > 0)
    estimate.p =
        2 * cdf(complement(StudentsT(degrees), std::fabs(*value) / error));
  else
    estimate.p = *value == 0 ? 1 : 0;
  return estimate;
}

std::optional<double> PromptsToSee(const Estimate& difference, double level) {
  if (!difference.interval.has_value()) return std::nullopt;
  const double now = difference.prompts;
  const double error = (difference.interval->high - difference.interval->low) /
                       2 / Critical(std::max(1.0, now - 1), kLevel);
  // A normal number is beyond its mean less this one four times in five.
  constexpr double kFourInFive = 0.842;
  const double effect = std::fabs(difference.value) - kFourInFive * error;
  if (!(effect > 0)) return std::nullopt;
  const auto prompts_at = [&](double own_level) {
    double prompts = now;
    for (int i = 0; i < 20; ++i) {
      const double shift =
          Critical(std::max(1.0, prompts - 1), own_level) + kFourInFive;
      prompts = std::max(2.0, now * std::pow(shift * error / effect, 2));
    }
    return prompts;
  };
  return std::ceil(std::max(prompts_at(level), M_PI / 2 * prompts_at(kLevel)));
}

std::vector<double> HolmAdjusted(absl::Span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, static_cast<double>(order.size() - i) *
                                            p[order[i]]));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

double SignTestP(int more, int less) {
  const int n = more + less;
  const int fewer = std::min(more, less);
  double p = 0;
  for (int i = 0; i <= fewer; ++i)
    p += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) -
                  std::lgamma(n - i + 1) - n * std::log(2.0));
  return std::min(1.0, 2 * p);
}

SignTest CompareSigns(Form form, absl::Span<const Part> a,
                      absl::Span<const Part> b) {
  Check(a.size() == b.size(), "parts of the same prompts");
  SignTest test;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::optional<double> left = Value(form, a[i]);
    const std::optional<double> right = Value(form, b[i]);
    if (!left.has_value() || !right.has_value()) continue;
    test.more += *left > *right ? 1 : 0;
    test.less += *left < *right ? 1 : 0;
  }
  test.p = SignTestP(test.more, test.less);
  return test;
}

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
