#include <string>

#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

ConfigReader Reader(absl::string_view text) {
  auto in = ConfigReader::Parse(text, "c.json");
  EXPECT_TRUE(in.ok()) << in.status();
  return *std::move(in);
}

std::string Refusal(absl::string_view text) {
  const auto in = ConfigReader::Parse(text, "c.json");
  return in.ok() ? "it was read" : std::string(in.status().message());
}

TEST(ConfigReader, GivesWhatStandsThere) {
  ConfigReader in = Reader(
      R"({"n": 7, "zero": 0, "x": 0.5, "whole": 3, "yes": true, "t": "a",
          "texts": ["a", "b"], "map": {"a": "b"}, "ids": [1, 2], "id": 3,
          "in": {"n": 8}, "nothing": null})");
  EXPECT_EQ(in.Size("n"), 7);
  EXPECT_EQ(in.SizeOr("n", 1), 7);
  EXPECT_EQ(in.CountOr("zero", 1), 0);
  EXPECT_EQ(in.Positive("x"), 0.5);
  EXPECT_EQ(in.PositiveOr("whole", 1), 3);
  EXPECT_TRUE(in.Flag("yes", false));
  EXPECT_EQ(in.Text("t"), "a");
  EXPECT_THAT(in.Texts("texts"), ElementsAre("a", "b"));
  EXPECT_THAT(in.TextMap("map"), ElementsAre(Pair("a", "b")));
  EXPECT_THAT(in.Tokens("ids", 3), ElementsAre(1, 2));
  EXPECT_THAT(in.Tokens("id", 4), ElementsAre(3));
  EXPECT_EQ(in.Section("in").Size("n"), 8);
  EXPECT_TRUE(in.HasObjects());
  EXPECT_FALSE(in.Section("in").HasObjects());
  EXPECT_TRUE(in.IsGiven("nothing"));
  EXPECT_FALSE(in.Has("nothing"));
  EXPECT_TRUE(in.status().ok()) << in.status();
}

TEST(ConfigReader, AnAbsentKeyAndNullGiveTheFallback) {
  for (const absl::string_view text : {"{}", R"({"k": null})"}) {
    ConfigReader in = Reader(text);
    EXPECT_EQ(in.SizeOr("k", 3), 3);
    EXPECT_EQ(in.CountOr("k", 0), 0);
    EXPECT_EQ(in.PositiveOr("k", 2.5), 2.5);
    EXPECT_TRUE(in.Flag("k", true));
    EXPECT_EQ(in.TextOr("k", "d"), "d");
    EXPECT_THAT(in.Texts("k"), IsEmpty());
    EXPECT_THAT(in.TextMap("k"), IsEmpty());
    EXPECT_THAT(in.Tokens("k", 9), IsEmpty());
    EXPECT_FALSE(in.Section("k").Has("x"));
    EXPECT_TRUE(in.status().ok()) << in.status();
    in.Size("k");
    EXPECT_THAT(std::string(in.status().message()),
                HasSubstr("c.json: k: expected a positive integer, found "));
  }
}

// The first error of reading {"k": VALUE} with `read`.
template <typename Read>
std::string Error(absl::string_view value, Read read) {
  ConfigReader in = Reader(absl::StrCat("{\"k\": ", value, "}"));
  read(in);
  EXPECT_FALSE(in.status().ok()) << value << " was read";
  return std::string(in.status().message());
}

TEST(ConfigReader, AWrongValueIsToldWithWhatStandsThere) {
  const auto size = [](ConfigReader& in) { in.Size("k", 100); };
  EXPECT_EQ(Error("\"x\"", size),
            "c.json: k: expected a positive integer, found \"x\"");
  for (const absl::string_view value :
       {"0", "-1", "1.5", "4.0", "true", "1e300", "18446744073709551615",
        "99999999999999999999"})
    EXPECT_EQ(Error(value, size).find("c.json: k: expected a positive"), 0u)
        << value;
  EXPECT_EQ(Error("101", size), "c.json: k: expected at most 100, found 101");
  EXPECT_EQ(Error("1000000000000000000", size),
            "c.json: k: expected at most 100, found 1000000000000000000");
  EXPECT_EQ(Error("-1", [](ConfigReader& in) { in.CountOr("k", 0); }),
            "c.json: k: expected an integer from 0 on, found -1");
  for (const absl::string_view value : {"0", "-0.5", "\"1\"", "true", "[1]"})
    EXPECT_THAT(Error(value, [](ConfigReader& in) { in.Positive("k"); }),
                HasSubstr("k: expected a positive number, found "));
  EXPECT_EQ(Error("1", [](ConfigReader& in) { in.Flag("k", true); }),
            "c.json: k: expected true or false, found 1");
  EXPECT_EQ(Error("\"\"", [](ConfigReader& in) { in.Text("k"); }),
            "c.json: k: expected a text, found \"\"");
  EXPECT_EQ(Error("[\"a\", 1]", [](ConfigReader& in) { in.Texts("k"); }),
            "c.json: k: expected a list of texts, found a list");
  EXPECT_EQ(Error("{\"a\": 1}", [](ConfigReader& in) { in.TextMap("k"); }),
            "c.json: k: 'a': expected a text, found 1");
  for (const absl::string_view value : {"9", "-1", "[1, 9]", "1.0", "\"1\""})
    EXPECT_THAT(Error(value, [](ConfigReader& in) { in.Tokens("k", 9); }),
                HasSubstr("k: expected token ids below 9, found "));
  EXPECT_EQ(Error("3", [](ConfigReader& in) { in.Section("k"); }),
            "c.json: k: expected an object, found 3");
}

TEST(ConfigReader, KeepsTheFirstErrorAndThenGivesFallbacks) {
  ConfigReader in = Reader(R"({"a": {"b": "x"}, "n": 5})");
  ConfigReader section = in.Section("a");
  section.Size("b");
  in.Flag("n", false);
  EXPECT_EQ(in.SizeOr("n", 3), 3);
  EXPECT_EQ(std::string(in.status().message()),
            "c.json: a.b: expected a positive integer, found \"x\"");
}

TEST(ConfigReader, TellsWhatWasReadApartTogether) {
  ConfigReader in = Reader(R"({"a": 0, "b": 0, "c": 0, "in": {"d": 0}})");
  ConfigReader apart = in.Apart();
  apart.Size("a");
  apart.Size("b");  // its second error
  EXPECT_EQ(std::string(apart.status().message()),
            "c.json: a: expected a positive integer, found 0");
  in.Apart().Section("in").Apart().Size("d");
  EXPECT_EQ(in.CountOr("c", 7), 0);  // reads on
  in.Size("c");
  in.Size("b");
  in.Apart().Size("a");  // a second time
  EXPECT_EQ(std::string(in.status().message()),
            "c.json: a: expected a positive integer, found 0\n"
            "  c.json: in.d: expected a positive integer, found 0\n"
            "  c.json: c: expected a positive integer, found 0");
}

TEST(ConfigReader, OfWrongIndicesGivesTheNumber) {
  ConfigReader in = Reader(R"({"k": [1, 1, 2]})");
  EXPECT_THAT(in.Indices("k", 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(std::string(in.status().message()),
              HasSubstr("ascending numbers below 3, found 1 at place 1"));
}

TEST(ConfigReader, RefusesWhatIsNoObject) {
  EXPECT_THAT(Refusal("{} {}"), HasSubstr("c.json:1:4: not valid JSON: "));
  EXPECT_THAT(Refusal("[1]"), HasSubstr("expected an object, found a list"));
  EXPECT_THAT(Refusal(R"({"a": 1, "b": {"c": 1, "c": 1}})"),
              HasSubstr("c.json:1:24: key 'c' is given twice"));
  EXPECT_EQ(Refusal(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"),
            "it was read");
}

TEST(ConfigReader, RefusesDepthWithoutUsingTheStackForIt) {
  const auto nested = [](std::size_t levels) {
    return absl::StrCat("{\"a\":", std::string(levels - 1, '['),
                        std::string(levels - 1, ']'), "}");
  };
  EXPECT_EQ(Refusal(nested(64)), "it was read");
  EXPECT_THAT(Refusal(nested(65)), HasSubstr("more than 64 levels"));
  EXPECT_THAT(Refusal(nested(10'000'000)), HasSubstr("more than 64 levels"));
}

}  // namespace
}  // namespace banyan
