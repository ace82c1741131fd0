#include "core/base/nearest.h"

#include <string>

#include "gtest/gtest.h"

namespace banyan {
namespace {

TEST(Nearest, IsTheNameWithTheFewestEdits) {
  EXPECT_EQ(Nearest("gama", {"depth", "gamma", "gap"}), "gamma");
  EXPECT_EQ(Nearest("kitten", {"mitten", "sitting"}), "mitten");
  EXPECT_EQ(Nearest("", {"abc", "ab"}), "ab");
}

TEST(Nearest, IsTheFirstOnATieAndNothingAmongNone) {
  EXPECT_EQ(Nearest("ax", {"ab", "ac"}), "ab");
  EXPECT_EQ(Nearest("x", {}), "");
  EXPECT_EQ(UnknownName("key", "x", {}), "unknown key 'x'");
}

TEST(Nearest, ComparesLongNamesByTheirBeginnings) {
  const std::string tail(1000, 'z');
  const std::string near = "abc" + tail, far = "xyz" + tail;
  EXPECT_EQ(Nearest("abd" + tail, {far, near}), near);
}

}  // namespace
}  // namespace banyan
