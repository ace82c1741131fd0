#include "experiments/report/answer/verdict.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace banyan {
namespace {

Judgement VerdictOf(const Difference& difference, double p) {
  const double value = difference.estimate->value;
  const SignTest& signs = difference.signs;
  if (difference.estimate->prompts < kLeastPrompts || p > kVerdictLevel ||
      signs.p > kVerdictLevel || (value > 0) != (signs.more > signs.less))
    return Judgement::kUndecided;
  return value > 0 ? Judgement::kMore : Judgement::kLess;
}

}  // namespace

Difference Compare(const MetricRow& metric, absl::Span<const PromptPair> own,
                   absl::Span<const PromptPair> other, const std::string& key) {
  const CommonParts parts = CountCommon(metric, own, other);
  const auto a = parts.a.find(key);
  const auto b = parts.b.find(key);
  if (a == parts.a.end() || b == parts.b.end()) return {};
  return {.estimate = EstimateDifference(metric.form, a->second, b->second),
          .signs = CompareSigns(metric.form, a->second, b->second)};
}

int Decide(absl::Span<Difference* const> family) {
  std::vector<Difference*> tested;
  std::vector<double> p;
  for (Difference* difference : family) {
    const auto& estimate = difference->estimate;
    if (!estimate.has_value() || !estimate->p.has_value()) continue;
    tested.push_back(difference);
    p.push_back(*estimate->p);
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Difference& difference = *tested[i];
    difference.verdict = VerdictOf(difference, adjusted[i]);
    if (difference.verdict != Judgement::kUndecided) continue;
    // The level that this one had to reach, whose rank may change.
    const double level =
        kVerdictLevel * (p[i] > 0 ? std::min(1.0, p[i] / adjusted[i]) : 1);
    difference.prompts_wanted = PromptsToSee(*difference.estimate, level);
    if (difference.prompts_wanted.has_value())
      difference.prompts_wanted = std::max<double>(
          *difference.prompts_wanted,
          std::max(kLeastPrompts, difference.estimate->prompts + 1));
  }
  return static_cast<int>(tested.size());
}

absl::string_view SpeedWord(Judgement verdict) {
  switch (verdict) {
    case Judgement::kMore:
      return "faster";
    case Judgement::kLess:
      return "slower";
    case Judgement::kUndecided:
      break;
  }
  return "undecided";
}

}  // namespace banyan
