// A metric: what is counted of a prompt, and how counts become a number.
//
// Every count is additive over prompts, so one rule serves all metrics: add the
// parts of the prompts, then divide. Intervals leave out one prompt's parts at
// a time; a difference of two cells adds both over the same prompts. Nothing is
// ever averaged over prompts' ratios.
#ifndef BANYAN_EXPERIMENTS_METRICS_METRIC_H_
#define BANYAN_EXPERIMENTS_METRICS_METRIC_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "experiments/records/record_set.h"

namespace banyan {

// What one prompt adds to one number.
struct Part {
  double over = 0;
  double under = 0;
  // The baseline's, where the number is relative to it.
  double base_over = 0;
  double base_under = 0;
};

enum class Form {
  kRatio,     // over / under
  kRelative,  // (over / under) / (base_over / base_under)
  kTotal,     // over; `under` is 1 where the prompt counts
  kLargest,   // the largest over; `under` as for a total
};

// Keys tell the numbers of one metric apart: "" if there is one, "depth 2",
// "trunk 0 ngram". They are ordered by their words and then by their number.
struct KeyLess {
  bool operator()(const std::string& a, const std::string& b) const;
};

// What one prompt adds to the numbers of one metric.
struct Counts {
  std::map<std::string, Part, KeyLess> parts;
  // Added under every key of the cell, those of other prompts too: a share of
  // all rounds counts the rounds of a prompt that never reached the depth.
  Part every;
};

struct MetricRow {
  absl::string_view name;
  absl::string_view sentence;
  absl::string_view unit;  // empty: a plain number
  Form form = Form::kRatio;
  // Adds what the prompt counts; nothing if the metric does not apply to it.
  std::function<void(const PromptPair& pair, Counts& counts)> count = nullptr;
  // It has numbers only where costs were stated.
  bool by_curve = false;
};

// Adds a prompt's part to a sum of parts.
void Add(Form form, const Part& part, Part& sum);

// The number; none if it would divide by nothing, or is not a number.
std::optional<double> Value(Form form, const Part& sum);

// Whether the part can change the number: it has what is divided by.
bool Contributes(Form form, const Part& part);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_METRIC_H_
