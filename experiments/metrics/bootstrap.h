// Intervals by bootstrap over prompts.
//
// Claim: if prompts are independent, numbers recomputed from prompts drawn with
// replacement scatter about the number as it scatters about the truth (Efron,
// 1979); the 2.5th and 97.5th percentile of them bound it at 95 %.
// Covered: any number that is made of sums over prompts; differences of two
// such numbers, where both are recomputed from the same prompts (paired), so
// that what is hard about a prompt cancels.
// Not covered: what differs from run to run on the same prompts. Below some
// twenty prompts intervals come out too narrow.
#ifndef BANYAN_EXPERIMENTS_METRICS_BOOTSTRAP_H_
#define BANYAN_EXPERIMENTS_METRICS_BOOTSTRAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "experiments/metrics/metric.h"

namespace banyan {

struct Interval {
  double low = 0;
  double high = 0;
};

struct Estimate {
  double value = 0;
  // None for totals and maxima, and where fewer than two prompts contribute.
  std::optional<Interval> interval;
  int prompts = 0;  // that contribute
};

// The same prompts give the same resamples, every time. Not safe to share
// between threads.
class Bootstrap {
 public:
  static constexpr int kResamples = 2000;

  // The number that the prompts' parts make; none if they make none.
  std::optional<Estimate> Of(Form form, absl::Span<const Part> parts);
  // a less b. Requires parts of the same prompts in the same order. Prompts
  // contribute if they do to either.
  std::optional<Estimate> Difference(Form form, absl::Span<const Part> a,
                                     absl::Span<const Part> b);

 private:
  // kResamples times `prompts` places, drawn with replacement.
  const std::vector<std::uint32_t>& Places(std::size_t prompts);

  std::map<std::size_t, std::vector<std::uint32_t>> places_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_BOOTSTRAP_H_
