// A number with its interval as JSON.
#ifndef BANYAN_EXPERIMENTS_REPORT_ESTIMATE_JSON_H_
#define BANYAN_EXPERIMENTS_REPORT_ESTIMATE_JSON_H_

#include <optional>

#include "core/json/json_value.h"
#include "experiments/metrics/estimate.h"

namespace banyan {

// value, low and high; null without a number, and for ends that there are not.
inline JsonValue EstimateToJson(const std::optional<Estimate>& estimate) {
  if (!estimate.has_value()) return nullptr;
  const auto& interval = estimate->interval;
  return {
      {"value", estimate->value},
      {"low", interval.has_value() ? JsonValue(interval->low) : JsonValue()},
      {"high", interval.has_value() ? JsonValue(interval->high) : JsonValue()}};
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ESTIMATE_JSON_H_
