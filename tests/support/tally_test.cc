#include "tests/support/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace banyan {
namespace {

constexpr char kProgram[] = "tally_test";

Tally Of(int proven, int unlawful, int left_out) {
  Tally tally;
  tally.Count(CaseResult::kProven, proven);
  tally.Count(CaseResult::kUnlawful, unlawful);
  tally.Count(CaseResult::kLeftOut, left_out);
  return tally;
}

TEST(Tally, NamesEachOfItsNumbers) {
  EXPECT_EQ(Of(3, 2, 1).ToText(), "3 proven, 2 unlawful, 1 left out");
  Tally tally = Of(3, 2, 1);
  tally.Count(CaseResult::kProven);
  EXPECT_EQ(tally.ToText(), "4 proven, 2 unlawful, 1 left out");
}

TEST(Tally, IsHeldByTheLineOfItsTest) { ExpectCounts(Of(3, 2, 1), kProgram); }

TEST(Tally, OfAnyOtherNumberFails) {
  for (const Tally& tally :
       {Of(2, 2, 1), Of(3, 3, 1), Of(3, 2, 0), Of(0, 0, 0)})
    EXPECT_NONFATAL_FAILURE(ExpectCounts(tally, kProgram), tally.ToText());
}

TEST(Tally, WithoutALineOrAFileFails) {
  EXPECT_NONFATAL_FAILURE(ExpectCounts(Of(1, 0, 0), kProgram), "no line");
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter heard(&failures);
    ExpectCounts(Of(1, 0, 0), "no_program");
  }
  EXPECT_EQ(failures.size(), 2);
}

class WithParameter : public testing::TestWithParam<int> {};

TEST_P(WithParameter, IsHeld) {
  // The second has no line: that is for the last test to say.
  ExpectCounts(Of(GetParam(), 0, 0), kProgram);
}

INSTANTIATE_TEST_SUITE_P(All, WithParameter, testing::Values(1, 2),
                         testing::PrintToStringParamName());

// The file has a line of a test that is not there, and none of the second
// parameter, on purpose.
TEST(Tally, ALineWithoutATestAndAParameterWithoutALineFail) {
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter heard(&failures);
    ExpectATestForEveryCount(kProgram);
  }
  ASSERT_EQ(failures.size(), 2);
  EXPECT_THAT(failures.GetTestPartResult(0).message(),
              testing::HasSubstr("a line of no test: 1 proven, 0 unlawful, 0 "
                                 "left out: Tally.IsGone"));
  EXPECT_THAT(failures.GetTestPartResult(1).message(),
              testing::HasSubstr("no line of All/WithParameter.IsHeld/2"));
}

}  // namespace
}  // namespace banyan
