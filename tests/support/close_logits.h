// Logits of a model that ships beside PyTorch's.
#ifndef BANYAN_TESTS_SUPPORT_CLOSE_LOGITS_H_
#define BANYAN_TESTS_SUPPORT_CLOSE_LOGITS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace banyan {

// Bound on the difference of two sides that round in 32 bits, u = 2^-24. A
// logit depends on sums of some 1,200 products a layer (hidden 192, head 64,
// tokens 100, hidden 192, feed-forward 512, and their counterparts), four
// layers and the head: 5,000 roundings, which wander by 70 u of the largest
// logit. Eightfold is allowed for norms and softmax near cancellation, and
// twofold for two sides.
inline constexpr double kRoundings = 70 * 8 * 2;

inline void ExpectClose(const std::vector<double>& found,
                        const std::vector<double>& wanted,
                        const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  double largest = 0;
  for (double number : wanted) largest = std::max(largest, std::fabs(number));
  ASSERT_GT(largest, 1) << what;
  const double bound = kRoundings * std::ldexp(largest, -24);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], bound) << what << ", token " << i;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_CLOSE_LOGITS_H_
