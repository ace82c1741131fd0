// Sums over long rows, in an order that lets them run in vector lanes.
//
// Adding one by one waits for every addition; eight partial sums do not, and
// lie nearer to the exact one. The order is fixed: the same row gives the same
// result.
//
// `term(i)` must be plain arithmetic on pointers: an index into a span is
// checked, and a loop that may end early is no vector loop.
#ifndef BANYAN_CORE_BASE_LANES_H_
#define BANYAN_CORE_BASE_LANES_H_

#include <cstddef>
#include <numeric>

namespace banyan {

inline constexpr std::size_t kLanes = 8;

// term(0) + ... + term(count - 1).
template <typename Term>
double SumInLanes(std::size_t count, Term term) {
  double sums[kLanes] = {};
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += term(i + lane);
  double sum = 0;
  for (std::size_t i = whole; i < count; ++i) sum += term(i);
  return std::accumulate(sums, sums + kLanes, sum);
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_LANES_H_
