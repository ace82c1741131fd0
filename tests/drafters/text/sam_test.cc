// SAM decoding, and the automaton under it, against scans of the texts.
#include "drafters/text/sam/sam.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/text/passages.h"
#include "tests/drafters/text/plans.h"
#include "tests/support/dice.h"
#include "tests/support/drafting.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The longest suffix of a text that stands `times` times in others.
int LongestSuffix(const std::vector<TokenId>& text, const Texts& in,
                  int times) {
  int length = 0;
  while (length < static_cast<int>(text.size()) &&
         CountOf(Last(text, length + 1), in) >= times)
    ++length;
  return length;
}

TEST(SuffixAutomaton, KnowsWhatStoodBeforeAndWhereFirst) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int vocab_size = dice.Between(1, 4);
    SuffixAutomaton automaton;
    EXPECT_EQ(automaton.Repeated().length, 0);
    std::vector<TokenId> text;
    for (int i = 0; i < 50; ++i) {
      text.push_back(dice.Below(vocab_size));
      automaton.Append(text.back());
      const SuffixAutomaton::Match match = automaton.Repeated();
      ASSERT_EQ(match.length, LongestSuffix(text, {text}, 2));
      ASSERT_LE(automaton.states(), 2 * automaton.size());
      if (match.length == 0) {
        EXPECT_EQ(match.state, 0);
        continue;
      }
      ASSERT_EQ(automaton.first_end(match.state),
                EndsOf(Last(text, match.length), {text}).front().second);
    }
    EXPECT_EQ(automaton.size(), 50);
  }
}

TEST(SuffixAutomaton, FollowsAnotherText) {
  int matched = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int vocab_size = dice.Between(2, 4);
    const std::vector<TokenId> known = SomeTokens(dice, 40, vocab_size);
    SuffixAutomaton automaton;
    for (TokenId token : known) automaton.Append(token);
    SuffixAutomaton::Match match;
    std::vector<TokenId> text;
    for (int i = 0; i < 40; ++i) {
      text.push_back(dice.OneIn(9) ? vocab_size : dice.Below(vocab_size));
      match = automaton.Advance(match, text.back());
      ASSERT_EQ(match.length, LongestSuffix(text, {known}, 1));
      if (match.length == 0) continue;
      ++matched;
      ASSERT_EQ(automaton.first_end(match.state),
                EndsOf(Last(text, match.length), {known}).front().second);
    }
  }
  EXPECT_GT(matched, 1000);
}

TEST(PastTexts, DropATenthOfThemAndForgetItWholly) {
  PastTexts past(20);
  Texts kept;
  for (int i = 0; i < 30; ++i) {
    const std::vector<TokenId> text = {i, 100, i + 1};
    past.Add(text);
    kept.push_back(text);
    if (kept.size() > 20) kept.erase(kept.begin(), kept.begin() + 2);
    EXPECT_EQ(past.held(), static_cast<int>(kept.size())) << i;
    EXPECT_EQ(past.held() + past.dropped(), i + 1);
    PastTexts anew(20);
    for (const std::vector<TokenId>& text_left : kept) anew.Add(text_left);
    ASSERT_EQ(past.automaton().states(), anew.automaton().states());
    SuffixAutomaton::Match old_match, new_match;
    for (TokenId token = 0; token < 31; ++token) {
      old_match = past.automaton().Advance({}, token);
      new_match = anew.automaton().Advance({}, token);
      ASSERT_EQ(old_match.length, new_match.length);
      ASSERT_EQ(past.automaton().first_end(old_match.state),
                anew.automaton().first_end(new_match.state));
    }
  }
  EXPECT_EQ(past.dropped(), 10);
}

TEST(PastTexts, NothingGoesOnIntoTheNextText) {
  PastTexts past(1);
  past.Add(std::vector<TokenId>{9});
  past.Add(std::vector<TokenId>{1, 2, 3});
  EXPECT_EQ(past.held(), 1);
  EXPECT_EQ(past.dropped(), 1);
  EXPECT_THAT(past.After(1, 5), ElementsAre(2, 3));
  EXPECT_THAT(past.After(1, 1), ElementsAre(2));
  EXPECT_THAT(past.After(3, 5), ElementsAre());
  PastTexts two(2);
  two.Add(std::vector<TokenId>{1, 2});
  two.Add(std::vector<TokenId>{3, 4});
  EXPECT_THAT(two.After(1, 5), ElementsAre(2));
  SuffixAutomaton::Match match;
  for (TokenId token : {2, 3}) match = two.automaton().Advance(match, token);
  EXPECT_EQ(match.length, 1);
}

std::vector<TokenId> From(const std::vector<TokenId>& text, int end,
                          int count) {
  const int last = std::min(static_cast<int>(text.size()), end + count);
  return {text.begin() + end, text.begin() + last};
}

// What is drafted, by scanning.
std::vector<TokenId> Naive(const std::vector<TokenId>& text, const Texts& past,
                           const SamOptions& options) {
  int own = LongestSuffix(text, {text}, 2);
  const int there = LongestSuffix(text, past, 1);
  if (std::max(own, there - options.bias) < options.threshold) return {};
  if (own < there - options.bias) {
    const auto [which, end] = EndsOf(Last(text, there), past).front();
    return From(past[static_cast<std::size_t>(which)], end, options.tokens);
  }
  // Shorter suffixes, as long as fewer tokens follow the first place than there
  // should: but only those that stand in other places too.
  auto ends = EndsOf(Last(text, own), {text});
  while (static_cast<int>(text.size()) - ends.front().second < options.tokens) {
    int shorter = own;
    auto others = ends;
    while (shorter > 0 && others == ends)
      others = EndsOf(Last(text, --shorter), {text});
    if (shorter == 0) break;
    own = shorter;
    ends = others;
  }
  return From(text, ends.front().second, options.tokens);
}

TEST(Sam, DraftsWhatAScanOfTheTextsDrafts) {
  int drafted = 0;
  int from_past = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const SamOptions options = {.threshold = dice.Between(1, 4),
                                .bias = dice.Between(0, 2),
                                .tokens = dice.Between(1, 9),
                                .keep_texts = true,
                                .texts = dice.Between(1, 3)};
    const int vocab_size = dice.Between(2, 4);
    const Solo drafter(
        std::make_unique<Sam>(vocab_size, options, SamplingRule()));
    Texts past;
    for (int prompt = 0; prompt < 5; ++prompt) {
      const std::unique_ptr<Solo> own = drafter.Another();
      Context context =
          BeginWith(*own, SomeTokens(dice, dice.Between(1, 6), vocab_size));
      for (int round = 0; round < 8; ++round) {
        const std::vector<TokenId> expected =
            Naive(context.tokens, past, options);
        ASSERT_EQ(PathsOf(PlanOf(*own)).back(), expected)
            << "prompt " << prompt << ", round " << round;
        drafted += expected.empty() ? 0 : 1;
        from_past += expected != Naive(context.tokens, {}, options);
        std::vector<TokenId> said =
            SomeTokens(dice, dice.Between(1, 5), vocab_size);
        // At times what stands there.
        if (dice.OneIn(2)) said = From(context.tokens, 0, 4);
        Commit(*own, said, context);
      }
      Finish(*own, context);
      past.emplace_back(context.tokens.begin() + context.prompt_length,
                        context.tokens.end());
      if (static_cast<int>(past.size()) > options.texts)
        past.erase(past.begin());
    }
  }
  EXPECT_GT(drafted, 4000);
  EXPECT_GT(from_past, 1000);
}

TEST(Sam, PromisesWhatMatchesOfWhatItDrafts) {
  const auto drafter = MustAsk("sam {threshold: 2, tokens: 4}");
  EXPECT_EQ(drafter->traits().draw_kinds.size(), kDrawKinds.size());
  Context context = BeginWith(*drafter, {1, 2, 3, 4, 5, 6, 7, 0, 1});
  EXPECT_EQ(drafter->Promise(context), 0) << "one matches, two must";
  EXPECT_TRUE(AtRoot(*drafter, context).empty());
  Commit(*drafter, {2, 3}, context);
  EXPECT_EQ(drafter->Promise(context), 3);
  EXPECT_EQ(ToText(MustDraft(*drafter, *PolicyOf("chain {nodes: 9}"),
                             {.context = context})),
            "3(4(5(6(7))))");
  Commit(*drafter, {4, 5, 6, 7}, context);
  EXPECT_EQ(drafter->Promise(context), 4) << "seven match, four are drafted";
}

// The first place of "0 0 0" has one 0 after it, that of "0" three.
TEST(Sam, GoesBackToWhereEnoughFollows) {
  const auto drafted = [](const std::string& spec) {
    const auto drafter = MustAsk(spec);
    return ToText(MustDraft(*drafter, *PolicyOf("chain {nodes: 9}"),
                            {.context = BeginWith(*drafter, {0, 0, 0, 0})}));
  };
  EXPECT_EQ(drafted("sam {threshold: 3, tokens: 1}"), "0(0)");
  EXPECT_EQ(drafted("sam {threshold: 3, tokens: 2}"), "0(0(0))");
  EXPECT_EQ(drafted("sam {threshold: 3, tokens: 3}"), "0(0(0(0)))");
  EXPECT_EQ(drafted("sam {threshold: 3, tokens: 4}"), "0(0(0(0)))")
      << "and no token 0 to fill it";
  EXPECT_EQ(drafted("sam {threshold: 4, tokens: 3}"), "0");
}

TEST(Sam, KeepsWhatWasSaidInEarlierPromptsIfItNeverResets) {
  const auto warm =
      MustAsk("sam {reset: never, texts: 2, threshold: 1, bias: 1}");
  const auto cold = MustAsk("sam {threshold: 1}");
  EXPECT_NE(warm->drafter().carried(), nullptr);
  EXPECT_EQ(cold->drafter().carried(), nullptr);
  const auto after = [](const Solo& drafter, TokenId token) {
    const auto next = drafter.Another();
    const Context context = BeginWith(*next, {6, token, 0});
    return Ranked(AtRoot(*next, context));
  };
  const auto early = warm->Another();
  for (TokenId said : {1, 2, 3})
    for (Solo* drafter : {warm.get(), cold.get()}) {
      const auto own = drafter->Another();
      Context context = BeginWith(*own, {5, 0, 4});
      Commit(*own, {said, 0, 7}, context);
      Finish(*own, context);
    }
  EXPECT_THAT(after(*warm, 3), ElementsAre(7));
  EXPECT_THAT(after(*warm, 2), ElementsAre(7));
  EXPECT_THAT(after(*warm, 1), ElementsAre()) << "the oldest is gone";
  EXPECT_THAT(after(*warm, 5), ElementsAre()) << "a prompt is not taken over";
  EXPECT_THAT(after(*cold, 3), ElementsAre());
  EXPECT_TRUE(AtRoot(*early, BeginAsMade(*early, {6, 3, 0})).empty())
      << "made before";
  ASSERT_EQ(warm->holdings().size(), 1);
  EXPECT_EQ(warm->holdings().front().unit, "texts");
  EXPECT_EQ(warm->holdings().front().held, 2);
  EXPECT_EQ(warm->holdings().front().dropped, 1);
  EXPECT_EQ(warm->Absorb(std::vector<TokenId>{1}, "no").code(),
            absl::StatusCode::kDataLoss);
}

TEST(Sam, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& keys) {
    return Refusal(absl::StrCat("sam {", keys, "}"));
  };
  EXPECT_EQ(refusal("threshold: 1, tokens: 15, reset: never, bias: 0, "
                    "texts: 1"),
            "");
  EXPECT_THAT(refusal("threshold: 0"),
              HasSubstr("'threshold' must be at least 1"));
  EXPECT_THAT(refusal("tokens: 0"), HasSubstr("'tokens' must be at least 1"));
  EXPECT_THAT(refusal("reset: now"),
              HasSubstr("'reset' must be prompt or never"));
  EXPECT_THAT(refusal("bias: 3"), HasSubstr("unless reset is never"));
  EXPECT_THAT(refusal("texts: 3"), HasSubstr("unless reset is never"));
  EXPECT_THAT(refusal("reset: never, bias: -1"),
              HasSubstr("'bias' must be at least 0"));
  EXPECT_THAT(refusal("reset: never, texts: 0"),
              HasSubstr("'texts' must be at least 1"));
  EXPECT_THAT(refusal("alpha: 4"), HasSubstr("unknown key 'alpha'"));
}

}  // namespace
}  // namespace banyan
