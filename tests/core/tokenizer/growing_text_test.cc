#include "core/tokenizer/growing_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "tests/core/tokenizer/support.h"
#include "tests/support/made/toy_tokenizer.h"

namespace banyan {
namespace {

// A folder of the project, where tests are run.
std::shared_ptr<const Tokenizer> Shipped(const std::string& name) {
  auto tokenizer = Tokenizer::Load("models/" + name);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

Ids Whole(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids =
      tokenizer.Encode(text, {.add_special = false, .parse_special = false});
  EXPECT_TRUE(ids.ok()) << ids.status();
  return *ids;
}

std::vector<std::string> Characters(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = CodePointAt(text, at).bytes;
    all.push_back(text.substr(at, size));
    at += size;
  }
  return all;
}

// Code, prose, and what words and merges find hard.
std::string RandomText(std::mt19937_64& bits, int parts) {
  static const std::vector<std::string> kParts = {
      "def ",   "return", "self",    ".",     "name", "(",   ")",    ":",
      "\n",     "\n\n",   "    ",    "  ",    " ",    "x",   "'",    "'s",
      "'ll",    "l",      "\"",      "12345", "6",    "_",   "café", "字",
      "\r\n",   "!!",     "...",     "\t",    "The",  " of", "and",  "token",
      "\u00a0", "==",     "ization", "re",    "e",    "ing", "🙂", ", "};
  std::string text;
  for (int i = 0; i < parts; ++i) text += kParts[bits() % kParts.size()];
  return text;
}

// Lets a text grow by one to four characters at a time: its tokens are those of
// the whole, and those that had settled stay.
void ExpectGrows(const Spellings& spellings, const std::string& text,
                 std::mt19937_64& bits) {
  const std::vector<std::string> characters = Characters(text);
  GrowingText growing(spellings);
  std::string so_far;
  Ids settled;
  for (std::size_t at = 0; at < characters.size();) {
    std::string more;
    for (auto left = 1 + bits() % 4; left > 0 && at < characters.size(); --left)
      more += characters[at++];
    so_far += more;
    ASSERT_TRUE(growing.Append(more).ok());
    ASSERT_EQ(growing.tokens(), Whole(spellings.tokenizer(), so_far))
        << "after '" << so_far << "'";
    ASSERT_LE(growing.settled(), growing.tokens().size());
    ASSERT_TRUE(
        std::equal(settled.begin(), settled.end(), growing.tokens().begin()))
        << "what had settled changed with '" << more << "' of '" << so_far
        << "'";
    settled = {growing.tokens().begin(),
               growing.tokens().begin() + growing.settled()};
  }
}

void ExpectAllGrow(const std::shared_ptr<const Tokenizer>& tokenizer,
                   int texts) {
  const Spellings spellings(tokenizer);
  std::mt19937_64 bits(7);
  for (int i = 0; i < texts; ++i)
    ExpectGrows(spellings, RandomText(bits, 5 + static_cast<int>(bits() % 90)),
                bits);
}

TEST(GrowingText, HasTheTokensOfTheWholeAndWhatSettledStays) {
  ExpectAllGrow(Shipped("pycode-target"), 60);
}

TEST(GrowingText, HasThemByWordsOfAnotherPattern) {
  ExpectAllGrow(Shipped("pycode-other"), 60);
}

TEST(GrowingText, HasThemWithoutWords) {
  const std::vector<std::string> tokens = {"a", "b", "ab", "ba", "bb", "aab"};
  const Spellings spellings(ToyTokenizer(tokens));
  std::mt19937_64 bits(3);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (auto left = 1 + bits() % 300; left > 0; --left)
      text += bits() % 2 == 0 ? "a" : "b";
    ExpectGrows(spellings, text, bits);
  }
}

TEST(GrowingText, SettlesAllThatCannotGrow) {
  const Spellings spellings(ToyTokenizer({"a", "b", "c", "ab", "abc"}));
  const auto settled = [&](const std::string& text) {
    GrowingText growing(spellings);
    EXPECT_TRUE(growing.Append(text).ok());
    return growing.settled();
  };
  EXPECT_EQ(settled("c"), 1);
  EXPECT_EQ(settled("ca"), 1) << "ab may come";
  EXPECT_EQ(settled("cab"), 1) << "abc may come";
  EXPECT_EQ(settled("cabc"), 2);
  EXPECT_EQ(settled("cac"), 3);
}

// However long it gets: what is read again is bounded, but for what has not
// settled.
TEST(GrowingText, ReadsItsLastPartAlone) {
  const Spellings spellings(Shipped("pycode-target"));
  GrowingText growing(spellings);
  std::mt19937_64 bits(5);
  std::size_t longest = 0;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(growing.Append(RandomText(bits, 3)).ok());
    longest = std::max(longest, growing.Branch().tokens().size());
  }
  EXPECT_GT(growing.tokens().size(), 9000);
  EXPECT_LT(longest, 300);
}

TEST(GrowingText, GoesOnByItselfInABranch) {
  const Spellings spellings(Shipped("pycode-target"));
  std::mt19937_64 bits(11);
  for (int i = 0; i < 40; ++i) {
    const std::string text = RandomText(bits, 60);
    GrowingText growing(spellings);
    for (const std::string& each : Characters(text))
      ASSERT_TRUE(growing.Append(each).ok());
    const Ids before = growing.tokens();
    const int settled = growing.settled();
    GrowingText branch = growing.Branch();
    const std::size_t skipped = before.size() - branch.tokens().size();
    EXPECT_EQ(branch.settled() + static_cast<int>(skipped), settled);
    const std::string more = RandomText(bits, 20);
    for (const std::string& each : Characters(more))
      ASSERT_TRUE(branch.Append(each).ok());
    Ids whole = Whole(spellings.tokenizer(), text + more);
    whole.erase(whole.begin(), whole.begin() + static_cast<long>(skipped));
    EXPECT_EQ(branch.tokens(), whole);
    EXPECT_EQ(growing.tokens(), before);
    EXPECT_EQ(growing.settled(), settled);
  }
}

TEST(GrowingText, IsReadAnewBehindAnEnd) {
  const Spellings spellings(ToyTokenizer({"a", "b", "ab", "<end>"}));
  GrowingText growing(spellings);
  ASSERT_TRUE(growing.Append("ba").ok());
  EXPECT_EQ(growing.settled(), 1);
  growing.End(3);
  EXPECT_EQ(growing.tokens(), (Ids{1, 0, 3}));
  EXPECT_EQ(growing.settled(), 3) << "no b comes after the a";
  ASSERT_TRUE(growing.Append("ba").ok());
  growing.End(std::nullopt);
  ASSERT_TRUE(growing.Append("b").ok());
  EXPECT_EQ(growing.tokens(), (Ids{1, 0, 3, 1, 0, 1})) << "a and b do not meet";
}

TEST(GrowingText, LeavesOutWhatCannotBeWritten) {
  const Spellings spellings(ToyTokenizer({"a", "b", "ab"}));
  GrowingText growing(spellings);
  ASSERT_TRUE(growing.Append("axb").ok());
  EXPECT_EQ(growing.tokens(), (Ids{2}));
  ASSERT_TRUE(growing.Append("x").ok());
  ASSERT_TRUE(growing.Append("字a").ok());
  EXPECT_EQ(growing.tokens(), (Ids{2, 0}));
}

// By its pattern an `a` is a word of its own until a `c` comes three letters
// on.
TEST(GrowingText, TakesBackWhatHadNotSettledAfterAll) {
  const Spellings spellings(
      ToyTokenizer({"a", "b", "c", "ab"}, {.pattern = "abbc|a|b|c"}));
  GrowingText growing(spellings);
  ASSERT_TRUE(growing.Append("cabb").ok());
  EXPECT_EQ(growing.tokens(), (Ids{2, 0, 1, 1}));
  EXPECT_EQ(growing.settled(), 4);
  ASSERT_TRUE(growing.Append("c").ok());
  EXPECT_EQ(growing.tokens(), (Ids{2, 3, 1, 2}));
  EXPECT_EQ(growing.settled(), 4);
}

TEST(GrowingText, OfRealVocabularies) {
  if (SharedData().empty())
    GTEST_SKIP() << "needs the folder shared/data beside the project";
  auto gpt2 = Tokenizer::Load(SharedData() + "/tokenizers/gpt2");
  ASSERT_TRUE(gpt2.ok()) << gpt2.status();
  ExpectAllGrow(*std::move(gpt2), 30);
  // A space before the text, byte tokens, and no words.
  auto stories = Tokenizer::Load(SharedData() + "/models/stories260K");
  ASSERT_TRUE(stories.ok()) << stories.status();
  ExpectAllGrow(*std::move(stories), 60);
}

}  // namespace
}  // namespace banyan
