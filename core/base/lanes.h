// Sums and maxima of long rows in an order, that of core/base/law_math.h, which
// lets them run in vector lanes.
//
// Adding one by one waits for every addition; eight partial sums do not, and
// lie nearer to the exact one. The order is fixed: the same row gives the same
// result, stored whole or as those of its numbers that are not 0.
#ifndef BANYAN_CORE_BASE_LANES_H_
#define BANYAN_CORE_BASE_LANES_H_

#include <algorithm>
#include <cstddef>

#include "core/base/law_math.h"

namespace banyan {

// term(0) + ... + term(count - 1). `term(i)` must be plain arithmetic on
// pointers: an index into a span is checked, and a loop that may end early is
// no vector loop.
template <typename Term>
double SumInLanes(std::size_t count, Term term) {
  constexpr std::size_t kLanes = kSumLanes;
  double sum = 0;
  for (std::size_t begin = 0; begin < count; begin += kSumRun) {
    const std::size_t end = std::min(begin + kSumRun, count);
    double lanes[kLanes] = {};
    const std::size_t whole = end / kLanes * kLanes;
    for (std::size_t i = begin; i < whole; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += term(i + lane);
    for (std::size_t i = whole; i < end; ++i) lanes[i - whole] += term(i);
    sum += AddLanes(lanes);
  }
  return sum;
}

// The largest of the numbers and `least`. None may be NaN.
inline double LargestInLanes(const double* numbers, std::size_t count,
                             double least) {
  constexpr std::size_t kLanes = kSumLanes;
  double most[kLanes];
  std::fill(most, most + kLanes, least);
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      most[lane] = std::max(most[lane], numbers[i + lane]);
  for (std::size_t i = whole; i < count; ++i)
    most[0] = std::max(most[0], numbers[i]);
  return *std::max_element(most, most + kLanes);
}

// The same sum of the numbers of a row that are not 0, given in their order.
class SparseSum {
 public:
  void Add(std::size_t place, double number) {
    if (place / kSumRun != run_) {
      sum_ += AddLanes(lanes_);
      std::fill(lanes_, lanes_ + kSumLanes, 0.0);
      run_ = place / kSumRun;
    }
    lanes_[place % kSumLanes] += number;
  }
  double Total() const { return sum_ + AddLanes(lanes_); }

 private:
  std::size_t run_ = 0;
  double lanes_[kSumLanes] = {};
  double sum_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_LANES_H_
