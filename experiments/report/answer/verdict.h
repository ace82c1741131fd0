// Decides what the difference of two cells shows beyond chance.
//
// A verdict needs six prompts, an interval's test that holds when it is
// corrected for all comparisons of the answer (HolmAdjusted), and a sign test
// over the prompts that agrees at 5 %, uncorrected. All else is undecided.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_VERDICT_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_VERDICT_H_

#include <optional>
#include <string>

#include "core/base/common.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record_set.h"

namespace banyan {

inline constexpr int kLeastPrompts = 6;
inline constexpr double kVerdictLevel = 0.05;

// Of a number that is better the larger it is: own less other.
enum class Judgement { kUndecided, kMore, kLess };

struct Difference {
  std::optional<Estimate> estimate;  // none: nothing in common
  SignTest signs;
  Judgement verdict = Judgement::kUndecided;
  // How many prompts would probably decide it; none where nothing tells.
  std::optional<double> prompts_wanted;
};

// Of the number of this key over the prompts of both, yet without a verdict.
Difference Compare(const MetricRow& metric, absl::Span<const PromptPair> own,
                   absl::Span<const PromptPair> other,
                   const std::string& key = "");

// Gives all their verdicts, and how many prompts would decide the others.
// Returns how many there were to test.
int Decide(absl::Span<Difference* const> family);

// "faster", "slower", "undecided".
absl::string_view SpeedWord(Judgement verdict);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_VERDICT_H_
