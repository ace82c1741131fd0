#include "core/tokenizer/patterns/split_pattern.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/tokenizer/patterns/regex.h"
#include "core/tokenizer/patterns/unicode.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

using Words = std::vector<std::string>;

Words Split(SplitPattern pattern, const std::string& text) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = WordEnd(pattern, text, at);
    words.push_back(text.substr(at, end - at));
    if (end <= at) break;  // the test fails on the words
    at = end;
  }
  return words;
}

TEST(SplitPattern, CutsContractions) {
  EXPECT_EQ(Split(SplitPattern::kGpt2, "we'll WE'LL x's"),
            (Words{"we", "'ll", " WE", "'", "LL", " x", "'s"}));
  EXPECT_EQ(Split(SplitPattern::kLlama3, "we'll WE'LL x'\u017f '"),
            (Words{"we", "'ll", " WE", "'LL", " x", "'\u017f", " '"}));
  EXPECT_EQ(Split(SplitPattern::kGpt2, "'v 'r 'l '"),
            (Words{"'", "v", " '", "r", " '", "l", " '"}));
}

TEST(SplitPattern, CutsNumbers) {
  EXPECT_EQ(Split(SplitPattern::kGpt2, "a 1234½x"),
            (Words{"a", " 1234½", "x"}));
  EXPECT_EQ(Split(SplitPattern::kLlama3, "a 1234½x"),
            (Words{"a", " ", "123", "4½", "x"}));
  EXPECT_EQ(Split(SplitPattern::kQwen2, "a 12"), (Words{"a", " ", "1", "2"}));
}

TEST(SplitPattern, LeavesOneSpaceToTheNextWord) {
  EXPECT_EQ(Split(SplitPattern::kGpt2, "a   b  \n\n c  "),
            (Words{"a", "  ", " b", "  \n\n", " c", "  "}));
  EXPECT_EQ(Split(SplitPattern::kLlama3, "a   b  \n\n c  "),
            (Words{"a", "  ", " b", "  \n\n", " c", "  "}));
  EXPECT_EQ(Split(SplitPattern::kGpt2, "a\n\nb\u00a0\u3000c"),
            (Words{"a", "\n", "\n", "b", "\u00a0", "\u3000", "c"}));
  EXPECT_EQ(Split(SplitPattern::kLlama3, "a\n\nb\u00a0\u3000c"),
            (Words{"a", "\n\n", "b", "\u00a0", "\u3000c"}));
}

TEST(SplitPattern, PutsNewlinesAndOneSignToTheirNeighbours) {
  EXPECT_EQ(Split(SplitPattern::kLlama3, "x !!\r\n\n y(z \t\n\tw"),
            (Words{"x", " !!\r\n\n", " y", "(z", " \t\n", "\tw"}));
}

TEST(SplitPattern, IsKnownByItsText) {
  EXPECT_EQ(FindSplitPattern(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+)"
                             R"(| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            SplitPattern::kGpt2);
  EXPECT_EQ(FindSplitPattern("\\s+"), std::nullopt);
}

// One in three is a run, so that runs of white space, of digits and of letters
// come in all lengths, and one in four is a beginning of a contraction.
std::string RandomText(std::mt19937& random) {
  constexpr const char* kCharacters[] = {
      "a",          "s",          "S",          "t",          "re",
      "L",          "d",          "M",          "\u017f",     "\u00e9",
      "\u00df",     "\u00aa",     "\u01c5",     "\u02b0",     "\u0436",
      "\u03a3",     "\u6f22",     "\u3042",     "\ud55c",     "\u0928",
      "\u0645",     "\u0e01",     "\u212a",     "\U0001d54f", "\U00020000",
      "0",          "7",          "\u0967",     "\u0663",     "\u00b2",
      "\u00bd",     "\u2167",     "\u3007",     "\U0001d7d8", " ",
      " ",          " ",          "\t",         "\n",         "\n",
      "\r",         "\r\n",       "\x0b",       "\x0c",       "\u0085",
      "\u00a0",     "\u1680",     "\u2003",     "\u2028",     "\u2029",
      "\u202f",     "\u205f",     "\u3000",     "\u180e",     "\u200b",
      "\ufeff",     "'",          "\u2019",     "!",          "-",
      "_",          "$",          "\u3002",     "\u0301",     "\u0323",
      "\u094d",     "\u20dd",     "\u200d",     "\u200c",     "\u24d0",
      "\u2460",     "\U0001f469", "\U0001f3fd", "\ufe0f",     "\x01",
      "\x1c",       "\x7f",       "\u00ad",     "\ue000",     "\U000e0001",
      "\U0010ffff", "'s",         "'S",         "'\u017f",    "'ll",
      "'Ll",        "'re",        "'VE",        "'m",         "'D",
      "'t",         "'l",         "'v"};
  std::string text;
  const int count = static_cast<int>(random() % 24);
  for (int i = 0; i < count; ++i) {
    const std::string character =
        kCharacters[random() % std::size(kCharacters)];
    const int times = random() % 3 == 0 ? static_cast<int>(random() % 9) : 1;
    for (int j = 0; j < times; ++j) text += character;
  }
  return text;
}

// The scanners do what the regular expressions say.
TEST(SplitPattern, CutsRandomTextsAsItsRegularExpression) {
  constexpr int kTexts = 30000;
  std::mt19937 random(20240607);
  std::vector<std::string> texts;
  for (int i = 0; i < kTexts; ++i) texts.push_back(RandomText(random));
  texts.push_back(std::string(5000, ' ') + "x" + std::string(5000, '\n'));
  texts.push_back(std::string(5000, '7') + std::string(5000, 'a'));
  for (const SplitPattern pattern :
       {SplitPattern::kGpt2, SplitPattern::kLlama3, SplitPattern::kQwen2}) {
    const auto regex = Regex::Compile(RegexOf(pattern));
    ASSERT_TRUE(regex.ok()) << regex.status();
    for (const std::string& text : texts) {
      const auto matches = regex->FindAll(text);
      ASSERT_TRUE(matches.ok()) << matches.status();
      Words words;
      for (const RegexMatch& match : *matches)
        words.push_back(text.substr(match.begin, match.end - match.begin));
      ASSERT_EQ(Split(pattern, text), words)
          << RegexOf(pattern) << " of " << Json(text);
    }
  }
}

TEST(BrokenUtf8, BecomesTheLongestBeginningsOfCharacters) {
  struct Case {
    std::string text;
    std::size_t bytes;
    bool is_cut;
  };
  const std::vector<Case> cases = {
      {"\x80", 1, false},         {"\xC0\x80", 1, false},
      {"\xC3", 1, true},          {"\xC3(", 1, false},
      {"\xE0\x80\x80", 1, false}, {"\xE2\x82", 2, true},
      {"\xE2\x82(", 2, false},    {"\xED\xA0\x80", 1, false},
      {"\xF0\x9F\x8C", 3, true},  {"\xF0\x80", 1, false},
      {"\xF4\x90", 1, false},     {"\xF5\x80", 1, false},
      {"\xFF", 1, false},
  };
  for (const Case& each : cases) {
    bool is_cut = !each.is_cut;
    EXPECT_EQ(WholeCharacter(each.text), 0u);
    EXPECT_EQ(BrokenCharacter(each.text, is_cut), each.bytes);
    EXPECT_EQ(is_cut, each.is_cut);
  }
}

}  // namespace
}  // namespace banyan
