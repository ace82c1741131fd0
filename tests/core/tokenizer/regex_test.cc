#include "core/tokenizer/patterns/regex.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/tokenizer/patterns/unicode.h"
#include "gmock/gmock.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Texts = std::vector<std::string>;

Texts Matches(const std::string& pattern, const std::string& text) {
  const auto regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status();
  if (!regex.ok()) return {};
  const auto matches = regex->FindAll(text);
  EXPECT_TRUE(matches.ok()) << matches.status();
  Texts found;
  for (const RegexMatch& match : matches.value_or(std::vector<RegexMatch>()))
    found.push_back(text.substr(match.begin, match.end - match.begin));
  return found;
}

std::string Refusal(const std::string& pattern) {
  const absl::Status status = Regex::Compile(pattern).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << pattern;
  return std::string(status.message());
}

TEST(Regex, SaysWhereAndWhyAPatternIsNone) {
  EXPECT_EQ(Refusal("a(b"), "byte 1, at '(b': the group is not closed");
  EXPECT_EQ(Refusal("ab)"), "byte 2, at ')': no group is open here");
  EXPECT_EQ(Refusal("é[a-"), "byte 2, at '[a-': the class is not closed");
  EXPECT_EQ(Refusal("|*"),
            "byte 1, at '*': there is nothing to repeat before "
            "this");
  EXPECT_EQ(Refusal("(?x:a b)"),
            "byte 0, at '(?x:a b)': this kind of group or option is not known");
  EXPECT_EQ(Refusal("(?#a)b"),
            "byte 0, at '(?#a)b': this kind of group or option is not known");
  EXPECT_EQ(Refusal("(*FAIL)"),
            "byte 0, at '(*FAIL)': this kind of group is not known");
  EXPECT_EQ(Refusal("(?<n"),
            "byte 0, at '(?<n': this kind of group is not "
            "known");
  EXPECT_EQ(Refusal("a\\X"),
            "byte 1, at '\\X': this letter or digit after a \\ is not known");
  EXPECT_EQ(Refusal("a\\"), "byte 1, at '\\': nothing follows the \\");
  EXPECT_EQ(Refusal("[[:graph:]]"),
            "byte 1, at '[:graph:]]': this name of a class is not known");
  EXPECT_EQ(Refusal("[a&&]"), "byte 0, at '[a&&]': one side of && is empty");
  EXPECT_EQ(Refusal("\\x{D800}"),
            "byte 0, at '\\x{D800}': expected the number of a character, as in "
            "\\x41");
  EXPECT_EQ(Refusal("\\pL"),
            "byte 0, at '\\pL': expected the name of a property, as in \\p{L}");
  EXPECT_EQ(
      Refusal(std::string(40, '[')),
      "byte 16, at '" + std::string(20, '[') + "': classes nest too deep");
}

// These the compiler finds, in what has been made of the pattern.
TEST(Regex, SaysWhereAndWhyWhatItMeansIsNone) {
  EXPECT_EQ(Refusal("[a[b]]\\p{Nope}c"),
            "byte 6, at '\\p{Nope}c': this name of a property of characters is "
            "not known");
  EXPECT_THAT(Refusal("\\w(?<=a\\w+)b"),
              StartsWith("byte 2, at '(?<=a\\w+)b': a lookbehind"));
  EXPECT_THAT(Refusal("\\s{3,2}"),
              HasSubstr("the numbers of {} are not in order"));
  EXPECT_THAT(Refusal("\\s{70000}"), HasSubstr("expected at most 65535"));
  EXPECT_THAT(Refusal("(a)\\2"), HasSubstr("there is no group of this"));
  EXPECT_THAT(Refusal(std::string(300, '(') + std::string(300, ')')),
              HasSubstr("groups nest too deep"));
  EXPECT_THAT(Refusal("(?:\\b{99}){99}"),
              HasSubstr("the pattern is too large"));
  EXPECT_EQ(Refusal(std::string(20000, 'a')),
            "the pattern has 20000 bytes; expected at most 16384");
}

TEST(Regex, FindsEmptyMatchesButNotBehindAMatch) {
  EXPECT_EQ(Matches("x*", "axxb"), (Texts{"", "xx", ""}));
  EXPECT_EQ(Matches("x*", ""), (Texts{""}));
  EXPECT_EQ(Matches("", "aé"), (Texts{"", "", ""}));
  EXPECT_EQ(Matches("x", ""), Texts());
}

TEST(Regex, MatchesALiteralAsItStands) {
  const auto dots = Regex::Literal(".*\\");
  ASSERT_TRUE(dots.ok());
  EXPECT_EQ(dots->FindAll("a.*\\b.*\\")->size(), 2u);
  EXPECT_EQ(dots->FindAll("abc")->size(), 0u);
  EXPECT_FALSE(Regex::Literal(std::string(20000, 'a')).ok());
}

TEST(Regex, RefusesATextThatIsNotUtf8) {
  const auto regex = Regex::Compile("\\w+");
  ASSERT_TRUE(regex.ok());
  for (const char* text : {"ab\xff", "\xc3", "a\xed\xa0\x80", "\xf8\x88\x80"})
    EXPECT_THAT(std::string(regex->FindAll(text).status().message()),
                HasSubstr("finds a text that is not UTF-8"));
}

// Each of them would go on for ages.
TEST(Regex, GivesUpOnPatternsThatTakeTooMuch) {
  const std::string text = std::string(200, 'a') + "!b";
  for (const char* pattern :
       {"(?:a|aa)+b", "(a+)+b", "(?:a*)*b|!!", "(?:a?){200}a{200}b"}) {
    const auto regex = Regex::Compile(pattern);
    ASSERT_TRUE(regex.ok()) << regex.status();
    const absl::Status status = regex->FindAll(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << pattern << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                StartsWith("the pattern '" + std::string(pattern) +
                           "' takes too many attempts in 202 bytes of text"));
  }
}

// The sizes: texts so long are no help in a message.
std::vector<std::size_t> MatchSizes(const std::string& pattern,
                                    const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const std::string& match : Matches(pattern, text))
    sizes.push_back(match.size());
  return sizes;
}

// A match needs memory for every character of it: more than machine code has.
TEST(Regex, MatchesLongWordsOfManyAlternatives) {
  const std::string word(1 << 17, 'a');
  EXPECT_THAT(MatchSizes("(?:a|b(?=c))+", word), ElementsAre(word.size()));
  EXPECT_THAT(MatchSizes("(?:[a&&[^b]]|\\w\\w)+\\b", word),
              ElementsAre(word.size()));
}

TEST(Regex, GivesUpOnAMatchThatNeedsTooMuchMemory) {
  const auto regex = Regex::Compile("(?:a|b(?=c))+");
  ASSERT_TRUE(regex.ok());
  EXPECT_EQ(regex->FindAll(std::string(1 << 21, 'a')).status().message(),
            "the pattern '(?:a|b(?=c))+' takes too much memory in 2097152 "
            "bytes of text, from byte 0");
}

TEST(Regex, CostsARunOfWhiteSpaceNoMoreThanItsLength) {
  const std::string spaces(1 << 22, ' ');
  EXPECT_THAT(MatchSizes("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", spaces),
              ElementsAre(spaces.size()));
}

// What Oniguruma does too, but not PCRE2: known, and told in the header.
TEST(Regex, TakesNoLetterForTwo) {
  EXPECT_EQ(Matches("(?i:stra\u00dfe)", "STRASSE Stra\u00dfe"),
            Texts{"Stra\u00dfe"});
}

constexpr std::size_t kCodePoints = 0x110000;

std::string Utf8(char32_t value) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  const auto tail = [&](int shift) {
    return byte(0x80 | ((value >> shift) & 0x3F));
  };
  if (value < 0x80) return {byte(value)};
  if (value < 0x800) return {byte(0xC0 | (value >> 6)), tail(0)};
  if (value < 0x10000) return {byte(0xE0 | (value >> 12)), tail(6), tail(0)};
  return {byte(0xF0 | (value >> 18)), tail(12), tail(6), tail(0)};
}

// By value, whether the class has the character.
std::vector<bool> MembersOf(const std::string& any_of, const std::string& all) {
  std::vector<bool> members(kCodePoints);
  for (const std::string& run : Matches(any_of + "+", all))
    for (std::size_t at = 0; at < run.size();) {
      const CodePoint point = CodePointAt(run, at);
      members[point.value] = true;
      at += point.bytes;
    }
  return members;
}

// PCRE2 and utf8proc may come with another Unicode each. A character that one
// of them does not know yet is of no class to it, and of its class to the
// other; all others are of the same class to both.
TEST(Regex, ClassesAreThoseOfTheScannersWhereBothKnowTheCharacter) {
  std::string all;
  for (char32_t value = 0; value < kCodePoints; ++value)
    if (value < 0xD800 || value > 0xDFFF) all += Utf8(value);
  const std::vector<bool> unknown = MembersOf("\\p{Cn}", all);
  const std::vector<bool> letters = MembersOf("\\p{L}", all);
  const std::vector<bool> numbers = MembersOf("\\p{N}", all);
  const std::vector<bool> spaces = MembersOf("\\s", all);
  int compared = 0;
  for (char32_t value = 0; value < kCodePoints; ++value) {
    const std::string name = absl::StrCat(absl::Hex(std::uint32_t{value}));
    EXPECT_EQ(IsSpace(value), spaces[value]) << name;
    const bool is_known = IsLetter(value) || IsNumber(value);
    if (unknown[value] || !(is_known || IsWord(value))) continue;
    EXPECT_EQ(IsLetter(value), letters[value]) << name;
    EXPECT_EQ(IsNumber(value), numbers[value]) << name;
    if (is_known) ++compared;
  }
  EXPECT_GT(compared, 130000);
}

}  // namespace
}  // namespace banyan
