#include "core/tokenizer/split_pattern.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/tokenizer/unicode.h"

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
