#include "tests/support/tally.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace banyan {
namespace {

Tally Of(int proven, int unlawful, int left_out) {
  Tally tally;
  tally.Count(CaseResult::kProven, proven);
  tally.Count(CaseResult::kUnlawful, unlawful);
  if (left_out > 0) tally.LeaveOut("lossy", left_out);
  return tally;
}

TEST(Tally, NamesEachOfItsNumbersAndReasons) {
  EXPECT_EQ(Of(3, 2, 0).ToText(), "3 proven, 2 unlawful, 0 left out");
  Tally tally = Of(3, 2, 1);
  tally.Count(CaseResult::kProven);
  tally.Count(CaseResult::kTooLarge, 2);
  EXPECT_EQ(tally.ToText(),
            "4 proven, 2 unlawful, 3 left out (lossy: 1; more leaves than its "
            "size allows: 2)");
  EXPECT_EQ(tally.all(), 9);
}

TEST(Tally, HoldsItsFloor) {
  ExpectCounts(Of(3, 2, 1), 3);
  ExpectCounts(Of(0, 2, 0), 0);
  EXPECT_NONFATAL_FAILURE(ExpectCounts(Of(2, 9, 9), 3), "cases were lost");
  EXPECT_NONFATAL_FAILURE(ExpectCounts(Of(0, 0, 0), 0), "no case at all");
}

TEST(Tally, LeavesNothingOutWithoutAReason) {
  Tally tally;
  EXPECT_NONFATAL_FAILURE(tally.LeaveOut(""), "without a reason");
}

}  // namespace
}  // namespace banyan
