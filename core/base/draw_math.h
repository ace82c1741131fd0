// The arithmetic of distributions and draws, which gives the same results on
// the host and on a device.
#ifndef BANYAN_CORE_BASE_DRAW_MATH_H_
#define BANYAN_CORE_BASE_DRAW_MATH_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace banyan {

// The arithmetic of distributions: exponentials, sums, and how a uniform number
// (core/base/keyed_uniform.h) decides a draw, each in one order wherever it is
// compiled. A host and its device compute bit-identical distributions from the
// same logits, and draw the same token.
//
// A row is summed in runs of kSumRun numbers. In a run, every kSumLanes-th
// number is added to the same one of kSumLanes sums. These sums are added up in
// their order, and so are the runs. So runs and lanes may be summed at once,
// and a number that is 0 may be left out: storage changes no bit.

#ifdef __CUDACC__
#define BANYAN_ANYWHERE __host__ __device__ inline
#else
#define BANYAN_ANYWHERE inline
#endif

constexpr int kSumRun = 256;
constexpr int kSumLanes = 8;

BANYAN_ANYWHERE constexpr int SumRuns(int numbers) {
  return (numbers + kSumRun - 1) / kSumRun;
}

BANYAN_ANYWHERE double AddLanes(const double* lanes) {
  double sum = 0;
  for (int lane = 0; lane < kSumLanes; ++lane) sum += lanes[lane];
  return sum;
}

// exp(x) for -746 <= x <= 0, within 2 units of the last place.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, and exp(r) by its series. 2^n is
// multiplied in two steps, so that results below the normal numbers are rounded
// once. Nothing is fused and nothing branches: compilers make vectors of it.
BANYAN_ANYWHERE double ExpOfClamped(double x) {
  constexpr double kRound = 0x1.8p52;  // to a whole number, by its last bit
  const double shifted = x * 0x1.71547652b82fep+0 + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  // n + 2048, which is not negative, in halves of n' + 1024 each; a number's
  // exponent is stored as n' + 1023.
  const std::uint64_t whole = std::bit_cast<std::uint64_t>(shifted) -
                              std::bit_cast<std::uint64_t>(kRound) + 2048;
  const std::uint64_t half = whole >> 1;
  return p * std::bit_cast<double>((half - 1) << 52) *
         std::bit_cast<double>((whole - half - 1) << 52);
}

// Below -746 exp is what it is there: 0.
BANYAN_ANYWHERE double ClampForExp(double x) {
  constexpr double kLeast = -746;
  return x < kLeast ? kLeast : x;
}

// exp(x) for x <= 0. -infinity gives 0. In a loop over a row on a machine, let
// the clamp be a loop of its own: a compiler that sees both makes a branch of
// the clamp, and no vectors of the rest.
BANYAN_ANYWHERE double ExpOfNegative(double x) {
  return ExpOfClamped(ClampForExp(x));
}

// Half-open on both sides: u = 0 accepts any positive probability, and no u
// below 1 is refused by probability 1.
BANYAN_ANYWHERE bool AcceptWith(double u, double probability) {
  return u < probability;
}

// The place at which the running sum of weights first exceeds `limit`, in two
// steps: the run (`of(i)` its sum), then the weight in it. `before` is the sum
// of what stands before; after the call, before the place. Never a place of
// weight 0; the last with weight if rounding leaves the sum short. -1: none has
// weight.
template <typename Of>
BANYAN_ANYWHERE int FirstAbove(double limit, int begin, int end, const Of& of,
                               double& before) {
  int last = -1;
  double sum = before;
  for (int i = begin; i < end; ++i) {
    const double weight = of(i);
    if (weight == 0) continue;
    last = i;
    before = sum;
    sum += weight;
    if (sum > limit) break;
  }
  return last;
}

// Less than this has no reciprocal: nothing.
constexpr double kNoMass = 0x1p-1022;
// A difference of sums that is a smaller share of them has lost its digits.
constexpr double kCancelled = 1.0 / 1024;

// The scale of a distribution's stored row, while tokens are taken out of it:
// masses are `scale` times the row's numbers, which sum to `row_total`.
struct LawScale {
  double scale = 1;
  double row_total = 0;
  double summed = 0;  // row_total when it was last summed afresh

  BANYAN_ANYWHERE double total() const { return scale * row_total; }
  BANYAN_ANYWHERE bool empty() const { return !(row_total > 0); }
  BANYAN_ANYWHERE void Normalize() { scale = 1 / row_total; }
  // Whether the row without this number of it must be summed afresh.
  BANYAN_ANYWHERE bool MustSum(double number) const {
    return !(row_total - number >= kCancelled * summed);
  }
  // Takes the number out, handing its mass on to the others. `rest`: the sum of
  // these, where it must be.
  BANYAN_ANYWHERE void TakeOut(double number, double rest) {
    const double all = total();
    if (MustSum(number))
      row_total = summed = rest;
    else
      row_total -= number;
    if (row_total < kNoMass) row_total = 0;
    scale = empty() ? 0 : all / row_total;
  }
};

// The scale of a residual's stored row, while draws are refused
// (core/prob/residual.h).
struct ResidualScale {
  double scale = 1;  // the masses are `scale` times the row
  double kept = 1;   // the share left since the row was last summed

  // True if a sum that came of a difference from 1 is exact enough: each
  // refusal hands its rounding on to the next.
  BANYAN_ANYWHERE bool Trusts(double sum, double a) const {
    return kept * sum >= kCancelled * a;
  }
};

// Sums and maxima of long rows in the same order, which
// lets them run in vector lanes.
//
// Adding one by one waits for every addition; eight partial sums do not, and
// lie nearer to the exact one. The order is fixed: the same row gives the same
// result, stored whole or as those of its numbers that are not 0.

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

// What a choice is for.

// Choices of different purpose never share randomness.
enum class Purpose : std::uint8_t {
  kDraft,   // draw a token from a proposal
  kOrder,   // pick the next of several draws to judge
  kCoin,    // accept or refuse
  kTarget,  // draw the token after the accepted path
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_DRAW_MATH_H_
