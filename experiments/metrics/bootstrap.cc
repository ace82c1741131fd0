#include "experiments/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/random/random_source.h"
#include "core/random/seeded_source.h"
#include "experiments/metrics/metric.h"

namespace banyan {
namespace {

// Any number serves; a fixed one makes reports reproducible.
constexpr std::uint64_t kSeed = 1979;
constexpr double kLow = 0.025;
constexpr double kHigh = 0.975;

using PlaceSpan = absl::Span<const std::uint32_t>;

bool HasInterval(Form form) {
  return form == Form::kRatio || form == Form::kRelative;
}

Part Sum(Form form, absl::Span<const Part> parts) {
  Part sum;
  for (const Part& part : parts) Add(form, part, sum);
  return sum;
}

Part SumAt(Form form, absl::Span<const Part> parts, PlaceSpan places) {
  Part sum;
  for (const std::uint32_t place : places) Add(form, parts[place], sum);
  return sum;
}

// Between the two values next to it. Requires sorted values, at least one.
double Quantile(const std::vector<double>& values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  // There is nothing between a number and infinity.
  if (!std::isfinite(values[below]) || !std::isfinite(values[above]))
    return values[below];
  return values[below] +
         (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// Over the resamples in which the number exists.
std::optional<Interval> IntervalOf(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{Quantile(values, kLow), Quantile(values, kHigh)};
}

// Calls `value_at` with each resample's places and collects what it gives.
template <typename ValueAt>
std::vector<double> Resampled(const std::vector<std::uint32_t>& places,
                              std::size_t prompts, const ValueAt& value_at) {
  std::vector<double> values;
  values.reserve(Bootstrap::kResamples);
  for (std::size_t begin = 0; begin < places.size(); begin += prompts) {
    const std::optional<double> value =
        value_at(PlaceSpan(&places[begin], prompts));
    if (value.has_value()) values.push_back(*value);
  }
  return values;
}

std::optional<double> Minus(const std::optional<double>& a,
                            const std::optional<double>& b) {
  if (!a.has_value() || !b.has_value() || std::isnan(*a - *b))
    return std::nullopt;
  return *a - *b;
}

}  // namespace

const std::vector<std::uint32_t>& Bootstrap::Places(std::size_t prompts) {
  const auto [entry, is_new] = places_.try_emplace(prompts);
  if (!is_new) return entry->second;
  // All places are equally likely, so each is the scaled uniform number of its
  // key; a draw from a list of equal weights would read the whole list.
  const SeededSource source(kSeed);
  entry->second.reserve(kResamples * prompts);
  for (std::uint32_t resample = 0; resample < kResamples; ++resample)
    for (std::uint32_t i = 0; i < prompts; ++i)
      entry->second.push_back(static_cast<std::uint32_t>(
          source.Uniform({.prompt = i, .round = resample}) *
          static_cast<double>(prompts)));
  return entry->second;
}

std::optional<Estimate> Bootstrap::Of(Form form, absl::Span<const Part> parts) {
  const std::optional<double> value = Value(form, Sum(form, parts));
  if (!value.has_value()) return std::nullopt;
  Estimate estimate = {.value = *value};
  for (const Part& part : parts)
    estimate.prompts += Contributes(form, part) ? 1 : 0;
  if (!HasInterval(form) || estimate.prompts < 2) return estimate;
  estimate.interval = IntervalOf(
      Resampled(Places(parts.size()), parts.size(), [&](PlaceSpan places) {
        return Value(form, SumAt(form, parts, places));
      }));
  return estimate;
}

std::optional<Estimate> Bootstrap::Difference(Form form,
                                              absl::Span<const Part> a,
                                              absl::Span<const Part> b) {
  Check(a.size() == b.size(), "parts of the same prompts");
  const std::optional<double> value =
      Minus(Value(form, Sum(form, a)), Value(form, Sum(form, b)));
  if (!value.has_value()) return std::nullopt;
  Estimate estimate = {.value = *value};
  for (std::size_t i = 0; i < a.size(); ++i)
    estimate.prompts +=
        Contributes(form, a[i]) || Contributes(form, b[i]) ? 1 : 0;
  if (!HasInterval(form) || estimate.prompts < 2) return estimate;
  estimate.interval =
      IntervalOf(Resampled(Places(a.size()), a.size(), [&](PlaceSpan places) {
        return Minus(Value(form, SumAt(form, a, places)),
                     Value(form, SumAt(form, b, places)));
      }));
  return estimate;
}

}  // namespace banyan
