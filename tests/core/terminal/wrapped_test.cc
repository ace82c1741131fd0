// Lines are full, and no wider than they may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/terminal/columns.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Wrapped, FillsEachLine) {
  EXPECT_THAT(Wrapped("a bc def g", 4), ElementsAre("a bc", "def", "g"));
  EXPECT_THAT(Wrapped("a bc def g", 5), ElementsAre("a bc", "def g"));
  EXPECT_THAT(Wrapped("a bc def g", 10), ElementsAre("a bc def g"));
}

TEST(Wrapped, GivesAWideWordALineOfItsOwn) {
  EXPECT_THAT(Wrapped("a wider b", 3), ElementsAre("a", "wider", "b"));
}

TEST(Wrapped, TakesAnySpaceForOne) {
  EXPECT_THAT(Wrapped("  a\n b  c ", 80), ElementsAre("a b c"));
  EXPECT_THAT(Wrapped(" \n", 80), IsEmpty());
  EXPECT_THAT(Wrapped("", 80), IsEmpty());
}

TEST(Wrapped, CountsColumns) {
  // Two columns for each character, which has three bytes.
  EXPECT_THAT(Wrapped("\u65e5\u65e5 \u65e5", 7),
              ElementsAre("\u65e5\u65e5 \u65e5"));
  EXPECT_THAT(Wrapped("\u65e5\u65e5 \u65e5", 6),
              ElementsAre("\u65e5\u65e5", "\u65e5"));
}

}  // namespace
}  // namespace banyan
