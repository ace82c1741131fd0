#include "core/random/uniform.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/check.h"
#include "core/base/checked_sum.h"
#include "core/base/lanes.h"
#include "core/base/law_math.h"
#include "core/base/weights.h"

namespace banyan {
namespace {

// The weights that stand in one run of the row (law_math.h).
struct Run {
  int begin;
  int end;
  double sum;
};

class Row {
 public:
  explicit Row(const Weights& weights)
      : weights_(weights),
        gaps_(weights.left_out.begin(), weights.left_out.end()) {
    std::sort(gaps_.begin(), gaps_.end());
    Check(gaps_.empty() || (gaps_.front() >= 0 && gaps_.back() < size()),
          "what is left out is no index");
  }

  // 0 where it is left out.
  double Weight(int i) const {
    return std::binary_search(gaps_.begin(), gaps_.end(), i)
               ? 0.0
               : weights_.values[static_cast<std::size_t>(i)];
  }

  std::vector<Run> Runs() const {
    std::vector<Run> runs;
    runs.reserve(static_cast<std::size_t>(size() / kSumRun + 1));
    for (int begin = 0; begin < size(); begin = runs.back().end) {
      const int run = PlaceOf(begin) / kSumRun;
      int end = begin;
      if (weights_.places.empty())
        end = std::min((run + 1) * kSumRun, size());
      else
        while (end < size() && PlaceOf(end) / kSumRun == run) ++end;
      runs.push_back({begin, end, Sum(begin, end)});
    }
    return runs;
  }

 private:
  int size() const { return static_cast<int>(weights_.values.size()); }
  int PlaceOf(int i) const {
    return weights_.places.empty()
               ? i
               : weights_.places[static_cast<std::size_t>(i)];
  }
  // Of one run.
  double Sum(int begin, int end) const {
    const auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), begin);
    if (weights_.places.empty() && (gap == gaps_.end() || *gap >= end))
      return CheckedSum(
          weights_.values.subspan(static_cast<std::size_t>(begin),
                                  static_cast<std::size_t>(end - begin)));
    SparseSum sum;
    for (int i = begin; i < end; ++i) {
      const double weight = Weight(i);
      Check(weight >= 0, "a mass or weight is negative or NaN");
      sum.Add(static_cast<std::size_t>(PlaceOf(i) % kSumRun), weight);
    }
    return sum.Total();
  }

  const Weights& weights_;
  std::vector<int> gaps_;
};

}  // namespace

int DrawWith(double u, const Weights& weights) {
  // Not the sum of all less what is left out: that could lose every digit.
  const Row row(weights);
  const std::vector<Run> runs = row.Runs();
  double total = 0;
  for (const Run& run : runs) total += run.sum;
  Check(std::isfinite(total), "weights are not finite");
  Check(total > 0, "draw from a list without weight");
  double before = 0;
  const int found = FirstAbove(
      u * total, 0, static_cast<int>(runs.size()),
      [&](int i) { return runs[static_cast<std::size_t>(i)].sum; }, before);
  const Run& run = runs[static_cast<std::size_t>(found)];
  return FirstAbove(
      u * total, run.begin, run.end, [&](int i) { return row.Weight(i); },
      before);
}

}  // namespace banyan
