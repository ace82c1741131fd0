#include "experiments/metrics/estimate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "experiments/metrics/metric.h"

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

}  // namespace banyan
