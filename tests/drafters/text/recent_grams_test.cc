#include "drafters/text/recent_grams.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/dice.h"
#include "tests/support/shared_models.h"

namespace banyan {
namespace {

using testing::ElementsAre;

// A token that was read, and the number of the text it stood in.
struct Read {
  TokenId token;
  int text;
};

// The same by looking at every place of the window.
std::map<TokenId, Continuation> Recount(const std::vector<Read>& all,
                                        const GramOptions& options,
                                        const std::vector<TokenId>& context) {
  std::map<TokenId, Continuation> row;
  std::size_t begin = 0;
  if (options.history > 0 &&
      all.size() > static_cast<std::size_t>(options.history))
    begin = all.size() - static_cast<std::size_t>(options.history);
  for (std::size_t at = begin + context.size(); at < all.size(); ++at) {
    if (all[at].token >= options.vocab_size) continue;
    bool matches = true;
    for (std::size_t i = 0; i < context.size(); ++i) {
      const Read& read = all[at - context.size() + i];
      matches =
          matches && read.token == context[i] && read.text == all[at].text;
    }
    if (!matches) continue;
    Continuation& seen = row[all[at].token];
    seen.token = all[at].token;
    ++seen.count;
    seen.last_seen = static_cast<std::int64_t>(at) + 1;
  }
  return row;
}

void ExpectRecount(const RecentGrams& grams, const std::vector<Read>& all,
                   const GramOptions& options,
                   const std::vector<TokenId>& context) {
  const absl::Span<const Continuation> row = grams.After(context);
  const std::map<TokenId, Continuation> expected =
      Recount(all, options, context);
  ASSERT_EQ(row.size(), expected.size())
      << testing::PrintToString(context) << " after " << all.size();
  std::size_t i = 0;
  for (const auto& [token, seen] : expected) {
    EXPECT_EQ(row[i].token, token);
    EXPECT_EQ(row[i].count, seen.count);
    EXPECT_EQ(row[i].last_seen, seen.last_seen);
    ++i;
  }
}

// Some 150 tokens in texts of any length, read in pieces; after each piece some
// contexts, those at the end among them, are held against a recount.
void ReadAndRecount(std::uint64_t seed) {
  Dice dice(seed);
  const int letters = dice.Between(1, 4);
  GramOptions options;
  options.longest = dice.Between(1, 5);
  options.shortest = dice.Between(1, options.longest);
  options.history = dice.OneIn(4) ? 0 : options.longest + dice.Between(1, 30);
  // Now and then one letter is no continuation.
  options.vocab_size = letters + (dice.OneIn(3) ? 0 : 1);
  RecentGrams grams(options);
  std::vector<Read> all;
  std::vector<TokenId> text;
  int number = 0;
  while (all.size() < 150) {
    if (dice.OneIn(6)) {
      grams.BeginText();
      text.clear();
      ++number;
    }
    for (int i = dice.Below(9); i > 0; --i) {
      text.push_back(dice.Below(letters + 1));
      all.push_back({text.back(), number});
    }
    grams.Follow(text);
    for (int i = 0; i < 6; ++i) {
      std::vector<TokenId> context;
      const int size = dice.Between(options.shortest, options.longest);
      if (static_cast<int>(text.size()) >= size && dice.OneIn(2))
        context.assign(text.end() - size, text.end());
      else
        for (int j = 0; j < size; ++j)
          context.push_back(dice.Below(letters + 1));
      ExpectRecount(grams, all, options, context);
    }
  }
}

TEST(RecentGrams, AreThoseOfARecountOfTheWindow) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ReadAndRecount(seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RecentGrams, ForgetWhatLeftTheWindow) {
  RecentGrams grams({.vocab_size = 4, .longest = 1, .history = 3});
  std::vector<TokenId> text = {0, 1, 2};
  grams.Follow(text);
  ASSERT_EQ(grams.After({0}).size(), 1);
  text.push_back(3);
  grams.Follow(text);
  EXPECT_TRUE(grams.After({0}).empty());
  EXPECT_EQ(grams.After({1}).size(), 1);
}

TEST(RecentGrams, ClearForgetsAll) {
  RecentGrams grams({.vocab_size = 4, .longest = 2, .history = 3});
  grams.Follow({0, 1, 2, 3});
  grams.Clear();
  EXPECT_TRUE(grams.After({2}).empty());
  grams.Follow({1, 3});
  ASSERT_EQ(grams.After({1}).size(), 1);
  EXPECT_EQ(grams.After({1})[0].token, 3);
}

TEST(RecentGrams, RecencyRisesBetweenZeroAndOne) {
  RecentGrams grams({.vocab_size = 9, .longest = 1, .history = 4});
  std::vector<TokenId> text;
  for (TokenId token : {0, 1, 0, 2, 0, 3, 0, 4}) {
    text.push_back(token);
    grams.Follow(text);
    double last = 0;
    std::map<std::int64_t, double> recency;
    for (const Continuation& seen : grams.After({0}))
      recency[seen.last_seen] = grams.Recency(seen);
    for (const auto& [when, value] : recency) {
      EXPECT_GT(value, last);
      last = value;
    }
    EXPECT_LT(last, 1);
  }
}

TEST(RecentGramsDeathTest, ATextOnlyGrows) {
  RecentGrams grams({.vocab_size = 9});
  grams.Follow({1, 2, 3});
  EXPECT_DEATH(grams.Follow({1, 2}), "a text only grows");
}

TEST(LastTokens, GoOnFromTheTextIntoThePath) {
  const Context context = ContextOf({1, 2, 3});
  EXPECT_THAT(LastTokens(context, {4, 5}, 4), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(LastTokens(context, {4, 5}, 2), ElementsAre(4, 5));
  EXPECT_THAT(LastTokens(context, {4, 5}, 1), ElementsAre(5));
  EXPECT_THAT(LastTokens(context, {}, 2), ElementsAre(2, 3));
  EXPECT_THAT(LastTokens(context, {4}, 9), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace banyan
