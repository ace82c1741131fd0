// What a difference of two cells says, in words.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_SPEED_VERDICT_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_SPEED_VERDICT_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "experiments/metrics/bootstrap.h"

namespace banyan {

enum class SpeedVerdict { kFaster, kSlower, kNoDifference, kTooFew };

// By whether the 95 % interval of the difference, own less other, excludes 0.
// `more_is_faster` is false for times.
inline SpeedVerdict Judge(const std::optional<Estimate>& difference,
                          bool more_is_faster) {
  if (!difference.has_value() || !difference->interval.has_value())
    return SpeedVerdict::kTooFew;
  if (difference->interval->low > 0)
    return more_is_faster ? SpeedVerdict::kFaster : SpeedVerdict::kSlower;
  if (difference->interval->high < 0)
    return more_is_faster ? SpeedVerdict::kSlower : SpeedVerdict::kFaster;
  return SpeedVerdict::kNoDifference;
}

inline absl::string_view Words(SpeedVerdict verdict) {
  switch (verdict) {
    case SpeedVerdict::kFaster:
      return "faster";
    case SpeedVerdict::kSlower:
      return "slower";
    case SpeedVerdict::kNoDifference:
      return "no difference seen";
    case SpeedVerdict::kTooFew:
      break;
  }
  return "too few prompts";
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_SPEED_VERDICT_H_
