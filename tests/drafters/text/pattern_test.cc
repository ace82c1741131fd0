#include "drafters/text/grammar/pattern.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan {
namespace {

using testing::HasSubstr;

Pattern MustParse(const std::string& text) {
  absl::StatusOr<Pattern> pattern = Pattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << text << ": " << pattern.status();
  return *std::move(pattern);
}

Pattern::Places After(const Pattern& pattern, absl::string_view text) {
  Pattern::Places places = pattern.Begin();
  for (char byte : text)
    places = pattern.After(places, static_cast<std::uint8_t>(byte));
  return places;
}

bool Matches(const Pattern& pattern, absl::string_view text) {
  return After(pattern, text).may_end;
}

// Returns the bytes that are certain after a text.
std::string Certain(const Pattern& pattern, absl::string_view text) {
  std::string bytes;
  Pattern::Places places = After(pattern, text);
  for (int i = 0; i < 100; ++i) {
    const std::optional<std::uint8_t> byte = pattern.OnlyWay(places);
    if (!byte.has_value()) break;
    bytes.push_back(static_cast<char>(*byte));
    places = pattern.After(places, *byte);
  }
  return bytes;
}

std::string Refusal(const std::string& text) {
  return std::string(Pattern::Parse(text).status().message());
}

// All texts of up to five letters, against the library's expressions.
TEST(Pattern, MatchesWhatTheLibraryMatches) {
  const std::vector<std::string> patterns = {
      "",          "a",          "ab|c",        "(ab)*",        "(a|b)*c",
      "a{2}",      "a{2,}",      "a{1,3}b?",    "[ab]+c",       "[^a]*",
      ".b.",       "(a*)*b",     "((a|b)(c|))", "(a|ab)(c|bc)", "a?a?a?aaa",
      "[a-b]c{0}", "(a|b|c){3}", "(a{2}|b){2}", "\\x61\\w",     "()*a",
      "[a-a]b"};
  const std::string letters = "abc\n";
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; texts[i].size() < 5; ++i)
    for (char letter : letters) texts.push_back(texts[i] + letter);
  int matched = 0;
  for (const std::string& text : patterns) {
    const Pattern pattern = MustParse(text);
    const std::regex expected(text);
    for (const std::string& word : texts) {
      const bool matches = std::regex_match(word, expected);
      EXPECT_EQ(Matches(pattern, word), matches) << text << " on " << word;
      matched += static_cast<int>(matches);
    }
  }
  EXPECT_EQ(matched, 505);
  EXPECT_EQ(texts.size(), 1365U);
}

// By trying every byte and every way on: where one byte alone leads to some
// text of the pattern, it is certain.
TEST(Pattern, KnowsWhereOneWayIsLeft) {
  for (const char* text :
       {"ab(a|b)c", "(abc)*", "(abc)+b", "a{3}", "(aab|aac)", "a|b", "aaa?"}) {
    const Pattern pattern = MustParse(text);
    std::vector<std::string> open = {""};
    for (std::size_t i = 0; i < open.size() && open[i].size() < 6; ++i) {
      const Pattern::Places places = After(pattern, open[i]);
      std::string ways;
      for (int byte = 0; byte < 256; ++byte) {
        const auto one = static_cast<std::uint8_t>(byte);
        if (!pattern.After(places, one).broken())
          ways.push_back(static_cast<char>(byte));
      }
      const std::optional<std::uint8_t> only = pattern.OnlyWay(places);
      EXPECT_EQ(only.has_value(), ways.size() == 1 && !places.may_end)
          << text << " after " << open[i];
      if (only.has_value()) {
        EXPECT_EQ(static_cast<char>(*only), ways[0]);
      }
      for (char way : ways) open.push_back(open[i] + way);
    }
  }
}

TEST(Pattern, IsCertainOfAFormsWords) {
  const Pattern form = MustParse(
      R"(\{"name": "[a-z]+", "age": \d+, "tags": \["\w+"(, "\w+")*\]\})");
  EXPECT_EQ(Certain(form, ""), R"({"name": ")");
  EXPECT_EQ(Certain(form, R"({"name": "ann")"), R"(, "age": )");
  EXPECT_EQ(Certain(form, R"({"name": "ann", "age": 3)"), "")
      << "another digit, or a comma";
  EXPECT_EQ(Certain(form, R"({"name": "ann", "age": 3,)"), R"( "tags": [")");
  EXPECT_EQ(Certain(form, R"({"name": "Ann)"), "");
  EXPECT_TRUE(After(form, R"({"name": "Ann)").broken());
  EXPECT_FALSE(After(form, R"({"name": "an)").broken());
  EXPECT_EQ(Certain(MustParse("\xC3\xA9{2}x"), ""), "\xC3\xA9\xC3\xA9x")
      << "a letter of two bytes is repeated whole";
}

TEST(Pattern, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Refusal("a(b"), "column 4: a group is not closed with ')'");
  EXPECT_EQ(Refusal("ab)"), "column 3: ')' closes no group");
  EXPECT_EQ(Refusal("*a"), "column 1: nothing stands before '*' to repeat");
  EXPECT_THAT(Refusal("^a"), HasSubstr("column 1: anchors are not known"));
  EXPECT_THAT(Refusal("a(?:b)"), HasSubstr("groups with '(?' are not known"));
  EXPECT_THAT(Refusal("a*?"), HasSubstr("no repeat is lazy"));
  EXPECT_THAT(Refusal("a{x}"), HasSubstr("a repeat's bound is a number"));
  EXPECT_THAT(Refusal("a{3,2}"), HasSubstr("bounds go upwards"));
  EXPECT_THAT(Refusal("a{2"), HasSubstr("'}' must end the bounds"));
  EXPECT_THAT(Refusal("[a"), HasSubstr("a set is not closed with ']'"));
  EXPECT_THAT(Refusal("[b-a]"), HasSubstr("a range goes upwards"));
  EXPECT_THAT(Refusal("[\\d-z]"), HasSubstr("a range lies between two"));
  EXPECT_THAT(Refusal("[^\\x00-\\xFF]"), HasSubstr("a set of nothing"));
  EXPECT_THAT(Refusal("[\xC3\xA9]"), HasSubstr("a letter of several"));
  EXPECT_THAT(Refusal("\\b"), HasSubstr("'\\b' is not known"));
  EXPECT_THAT(Refusal("[[:alpha:]]"),
              HasSubstr("column 2: '[:' begins a class of POSIX"));
  EXPECT_THAT(Refusal("[a-z&&[aeiou]]"),
              HasSubstr("column 5: '&&' intersects sets elsewhere"));
  EXPECT_TRUE(Matches(MustParse("[[a:&]+"), "[:a&")) << "each alone is itself";
  EXPECT_TRUE(Matches(MustParse("[\\[:&\\&]+"), "[:&"));
  EXPECT_THAT(Refusal("\\x4"), HasSubstr("two hexadecimal digits"));
  EXPECT_THAT(Refusal("a\\"), HasSubstr("nothing follows"));
  EXPECT_THAT(Refusal(std::string(1000, '(')), HasSubstr("more than 200"));
}

TEST(Pattern, OfAFileIsWithoutWhatEditorsPutAroundIt) {
  for (const char* text : {"ab", "ab\n", "ab\r\n",
                           "\xEF\xBB\xBF"
                           "ab\r\n"}) {
    const absl::StatusOr<Pattern> pattern = Pattern::ParseFile(text);
    ASSERT_TRUE(pattern.ok()) << pattern.status();
    EXPECT_TRUE(Matches(*pattern, "ab")) << text;
  }
  EXPECT_TRUE(Matches(*Pattern::ParseFile("ab\r"), "ab\r")) << "no line ends";
}

TEST(Pattern, ThatExplodesIsRefused) {
  const char* too_many =
      "it takes more than 10000 places: each byte and set takes one, and "
      "again each time that it is repeated";
  EXPECT_EQ(Refusal("a{20000}"), too_many);
  EXPECT_EQ(Refusal(std::string(100'000, 'a')), too_many);
  EXPECT_EQ(Refusal("((a{100}){100}){100}"), too_many);
  EXPECT_EQ(Refusal("((){100000}){100000}"), too_many);
  EXPECT_THAT(Refusal("a{100001}"), HasSubstr("more than 100000 repeats"));
  // Ways of which a backtracking matcher would try 2^30.
  const Pattern pattern = MustParse("(a|a)*(a|a)*(a?){30}a{30}");
  EXPECT_TRUE(Matches(pattern, std::string(60, 'a')));
  EXPECT_FALSE(Matches(pattern, std::string(29, 'a')));
}

}  // namespace
}  // namespace banyan
