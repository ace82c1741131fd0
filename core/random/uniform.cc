#include "core/random/uniform.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/check.h"
#include "core/base/checked_sum.h"
#include "core/base/weights.h"

namespace banyan {
namespace {

// Weights begin .. end - 1, none of which is left out.
struct Run {
  int begin;
  int end;
  double sum;
};

// All weights that are not left out. Runs are short, so that a draw, which
// looks for its run first, adds few weights one by one.
std::vector<Run> Runs(const Weights& weights) {
  constexpr int kLongest = 256;
  const int size = static_cast<int>(weights.values.size());
  std::vector<int> gaps(weights.left_out.begin(), weights.left_out.end());
  std::sort(gaps.begin(), gaps.end());
  gaps.push_back(size);
  std::vector<Run> runs;
  runs.reserve(gaps.size() + static_cast<std::size_t>(size / kLongest));
  int begin = 0;
  for (int gap : gaps) {
    Check(gap >= 0 && gap <= size, "what is left out is no index");
    for (; begin < gap; begin = runs.back().end) {
      const int end = std::min(begin + kLongest, gap);
      const auto values = weights.values.subspan(begin, end - begin);
      runs.push_back({begin, end, CheckedSum(values)});
    }
    begin = gap + 1;
  }
  return runs;
}

}  // namespace

int DrawWith(double u, const Weights& weights) {
  // Not the sum of all less what is left out: that could lose every digit.
  const std::vector<Run> runs = Runs(weights);
  double total = 0;
  for (const Run& run : runs) total += run.sum;
  Check(std::isfinite(total), "weights are not finite");
  Check(total > 0, "draw from a list without weight");

  // The run; the last one with weight if rounding leaves the sum short.
  const Run* found = nullptr;
  double before = 0;
  double sum = 0;
  for (const Run& run : runs) {
    if (run.sum == 0) continue;
    found = &run;
    before = sum;
    sum += run.sum;
    if (sum > u * total) break;
  }
  // The weight in it, in the same way.
  int last = -1;
  sum = before;
  for (int i = found->begin; i < found->end; ++i) {
    if (weights.values[i] == 0) continue;
    last = i;
    sum += weights.values[i];
    if (sum > u * total) break;
  }
  return last;
}

}  // namespace banyan
