// What is said of a gather that did not end: whether ranks are late or compute
// differently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/device/ranks/communicator.h"

namespace banyan {
namespace {

using testing::HasSubstr;

const GatherLimit kLimit = {3, "(--gather-timeout)"};
constexpr GatherPlace kHere = {.number = 17, .sizes = 5, .sizes_before = 4};
constexpr GatherPlace kNext = {.number = 18, .sizes = 6, .sizes_before = 5};

std::string Explained(int mine, const std::vector<RankAnswer>& answers) {
  const absl::Status status = ExplainLateness(mine, answers, kLimit);
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

TEST(LateRanks, OneThatDoesNotAnswerIsNamed) {
  EXPECT_EQ(Explained(0, {{true, kHere, 0}, {}, {true, kHere, 3.1}}),
            "rank 1 did not answer for 3 s (--gather-timeout), expected for "
            "gather 17");
  EXPECT_THAT(Explained(1, {{}, {true, kHere, 0}, {}}),
              HasSubstr("ranks 0, 2 did not answer"));
}

TEST(LateRanks, OneThatAnswersLateIsNamedWithItsTime) {
  EXPECT_EQ(
      Explained(0, {{true, kHere, 0}, {true, kHere, 4.1}, {true, kHere, 2.9}}),
      "rank 1 answered after 4.1 s, expected within 3 s "
      "(--gather-timeout) for gather 17");
}

// Once the late rank has the others' bytes it goes on to the next gather.
TEST(LateRanks, OneThatIsAGatherAheadMayBeLateOnly) {
  EXPECT_THAT(Explained(0, {{true, kHere, 0}, {true, kNext, 4.1}}),
              HasSubstr("rank 1 answered after 4.1 s"));
  EXPECT_EQ(Explained(1, {{true, kHere, 0.1}, {true, kNext, 0}}),
            "rank 1 came to gather 18 after other ranks had waited for it for "
            "3 s (--gather-timeout)");
}

// It had no bytes of gather 18 to wait for.
TEST(LateRanks, OneThatIsFurtherAheadShowsNoDifference) {
  const GatherPlace later = {.number = 19, .sizes = 8, .sizes_before = 7};
  EXPECT_THAT(Explained(0, {{true, kHere, 0}, {true, later, 4.1}}),
              HasSubstr("rank 1 answered after 4.1 s"));
}

TEST(LateRanks, OtherSizesAreADifference) {
  for (const GatherPlace& other : {
           GatherPlace{.number = 17, .sizes = 9, .sizes_before = 4},
           GatherPlace{.number = 17, .sizes = 5, .sizes_before = 9},
           GatherPlace{.number = 18, .sizes = 6, .sizes_before = 9},
           GatherPlace{.number = 16, .sizes = 9, .sizes_before = 3},
       }) {
    const std::vector<RankAnswer> answers = {{true, kHere, 0},
                                             {true, other, 4.1}};
    EXPECT_TRUE(absl::IsDataLoss(ExplainLateness(0, answers, kLimit)))
        << other.number;
  }
}

}  // namespace
}  // namespace banyan
