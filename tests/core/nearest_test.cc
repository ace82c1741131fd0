#include <string>

#include "core/base/messages.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

TEST(Nearest, IsTheNameWithTheFewestEdits) {
  EXPECT_EQ(Nearest("gama", {"depth", "gamma", "gap"}), "gamma");
  EXPECT_EQ(Nearest("kitten", {"sitting", "mitten"}), "mitten");
  EXPECT_EQ(Nearest("samplin", {"sample", "sampling"}), "sampling");
}

TEST(Nearest, TakesTwoSwappedLettersForOneEdit) {
  EXPECT_EQ(Nearest("lwa", {"law"}), "law");
  EXPECT_EQ(Nearest("modle", {"model"}), "model");
  EXPECT_EQ(Nearest("chian", {"chain"}), "chain");
}

TEST(Nearest, ResemblesTheName) {
  EXPECT_EQ(Nearest("abc", {"abd"}), "abd");   // one of three
  EXPECT_EQ(Nearest("ab", {"ac"}), "");        // one of two
  EXPECT_EQ(Nearest("ab", {"abc"}), "abc");    // of the longer
  EXPECT_EQ(Nearest("abcde", {"abxye"}), "");  // two of five
  EXPECT_EQ(Nearest("abcdef", {"abxyef"}), "abxyef");
  EXPECT_EQ(Nearest("invented", {"type", "vocab", "merges"}), "");
  EXPECT_EQ(Nearest("", {"a", "ab"}), "");
}

TEST(Nearest, IsTheFirstOnATieAndNothingAmongNone) {
  EXPECT_EQ(Nearest("axy", {"aby", "acy"}), "aby");
  EXPECT_EQ(Nearest("x", {}), "");
}

TEST(UnknownName, AsksOnlyWhereANameResemblesIt) {
  EXPECT_EQ(UnknownName("key", "gama", {"depth", "gamma"}),
            "unknown key 'gama'; did you mean 'gamma'? known: depth, gamma");
  EXPECT_EQ(UnknownName("key", "width", {"a", "gamma"}),
            "unknown key 'width'; known: a, gamma");
  EXPECT_EQ(UnknownName("key", "x", {}), "unknown key 'x'");
}

TEST(Nearest, ComparesLongNamesByTheirBeginnings) {
  const std::string tail(1000, 'z');
  const std::string near = "abc" + tail, far = "xyz" + tail;
  EXPECT_EQ(Nearest("abd" + tail, {far, near}), near);
}

}  // namespace
}  // namespace banyan
