// SuffixDecoding against a draft that is made by scanning the texts.
#include "drafters/text/suffix/suffix.h"

#include <algorithm>
#include <cmath>
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

struct Guess {
  PlanScores scores;
  double worth = 0;
};

// The tokens after a match, one by one.
class Naive {
 public:
  Naive(const SuffixOptions& options, int vocab_size)
      : options_(options), vocab_size_(vocab_size) {}

  Guess Best(const std::vector<TokenId>& text, const Texts& past) const {
    const Guess here = BestIn({text}, text);
    const Guess there = BestIn(past, text);
    return there.worth > here.worth ? there : here;
  }

 private:
  struct Open {
    std::vector<TokenId> path;
    int count;
    int found;
    double share;
  };

  Guess BestIn(const Texts& texts, const std::vector<TokenId>& text) const {
    Guess best;
    for (int match = 1;
         match < options_.depth && match <= static_cast<int>(text.size()) &&
         CountOf(Last(text, match), texts) > 0;
         ++match) {
      const double budget =
          std::floor(options_.factor * match + options_.offset + 1e-6);
      const Guess guess =
          Draft(Last(text, match), texts,
                std::min<int>(options_.max_tokens, static_cast<int>(budget)));
      if (guess.worth >= best.worth) best = guess;
    }
    return best;
  }

  Guess Draft(const std::vector<TokenId>& match, const Texts& texts,
              int budget) const {
    const int whole = CountOf(match, texts);
    Guess guess;
    int sum = 0;
    int found = 1;
    std::vector<Open> open =
        Below({{}, whole, 0, 1}, match, whole, texts, found);
    while (budget-- > 0 && !open.empty()) {
      const auto at = std::min_element(
          open.begin(), open.end(), [](const Open& a, const Open& b) {
            return a.count != b.count ? a.count > b.count : a.found < b.found;
          });
      const Open taken = *at;
      open.erase(at);
      guess.scores[taken.path] = taken.share;
      sum += taken.count;
      for (const Open& next : Below(taken, match, whole, texts, found))
        open.push_back(next);
    }
    guess.worth = static_cast<double>(sum) / whole;
    return guess;
  }

  // One that is all that follows is found with what it follows.
  std::vector<Open> Below(const Open& above, const std::vector<TokenId>& match,
                          int whole, const Texts& texts, int& found) const {
    std::vector<TokenId> passage = match;
    passage.insert(passage.end(), above.path.begin(), above.path.end());
    std::vector<Open> below;
    if (static_cast<int>(passage.size()) == options_.depth) return below;
    for (TokenId token : FollowersOf(passage, texts, vocab_size_)) {
      std::vector<TokenId> longer = passage;
      longer.push_back(token);
      const int count = CountOf(longer, texts);
      if (static_cast<double>(count) / whole < options_.min_probability) break;
      std::vector<TokenId> path = above.path;
      path.push_back(token);
      below.push_back({path, count,
                       count == above.count ? above.found : found++,
                       static_cast<double>(count) / above.count});
      if (!options_.as_tree) break;
    }
    return below;
  }

  SuffixOptions options_;
  int vocab_size_;
};

SuffixOptions SomeOptions(Dice& dice) {
  SuffixOptions options;
  options.depth = dice.Between(2, 9);
  options.max_tokens = dice.Between(1, 9);
  options.factor = dice.OneOf<double>({0, 0.5, 1, 1, 2.1});
  options.offset = dice.OneOf<double>({-1, 0, 0, 0.9, 3});
  options.min_probability = dice.OneOf<double>({0.05, 0.1, 0.25, 0.5});
  options.as_tree = dice.OneIn(2);
  options.keep_texts = true;
  options.texts = dice.Between(1, 3);
  return options;
}

TEST(Suffix, DraftsWhatAScanOfTheTextsDrafts) {
  int drafted = 0;
  int from_past = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const SuffixOptions options = SomeOptions(dice);
    const int vocab_size = dice.Between(2, 4);
    const Naive naive(options, vocab_size);
    const Solo drafter(
        std::make_unique<Suffix>(vocab_size, options, SamplingRule()));
    Texts past;
    for (int prompt = 0; prompt < 5; ++prompt) {
      const std::unique_ptr<Solo> own = drafter.Another();
      Context context =
          BeginWith(*own, SomeTokens(dice, dice.Between(1, 6), vocab_size));
      for (int round = 0; round < 6; ++round) {
        Texts said = past;  // and what the prompt itself has emitted
        said.emplace_back(context.tokens.begin() + context.prompt_length,
                          context.tokens.end());
        const Guess expected = naive.Best(context.tokens, said);
        ASSERT_EQ(ScoresOf(PlanOf(*own)), expected.scores)
            << "prompt " << prompt << ", round " << round;
        EXPECT_NEAR(own->Promise(context).value(), expected.worth, 1e-12);
        drafted += expected.scores.empty() ? 0 : 1;
        from_past += expected.worth > naive.Best(context.tokens, {}).worth;
        Commit(*own, SomeTokens(dice, dice.Between(1, 5), vocab_size), context);
      }
      Finish(*own, context);
      past.emplace_back(context.tokens.begin() + context.prompt_length,
                        context.tokens.end());
      if (static_cast<int>(past.size()) > options.texts)
        past.erase(past.begin());
    }
  }
  EXPECT_GT(drafted, 2000);
  EXPECT_GT(from_past, 500);
}

// The proposals at the nodes of a tree.
TEST(Suffix, ProposesItsPlanAsCountsOrLaws) {
  const auto drafter =
      MustAsk("suffix {mode: tree, factor: 2, sampling: {temperature: 0.5}}");
  EXPECT_EQ(drafter->traits().draw_kinds.size(), kDrawKinds.size());
  // After 1: 2 stood twice, 3 once, and the end is one more.
  const Context context = BeginWith(*drafter, {1, 2, 4, 1, 3, 1, 2, 5, 1});
  EXPECT_EQ(Ranked(AtRoot(*drafter, context, DrawKind::kDeterministic)),
            std::vector<TokenId>({2, 3}));
  const Distribution law = AtRoot(*drafter, context);
  EXPECT_NEAR(law.Mass(2) / law.Mass(3), 4, 1e-12) << "2 to 1, squared";
  EXPECT_NEAR(drafter->Promise(context).value(), 0.5 + 0.25, 1e-12);
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("expansion {branching: [2, 2, 2]}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "1(2 3)");
}

TEST(Suffix, DraftsALongMatchAsFarAsItIsLong) {
  const auto drafter = MustAsk("suffix {}");
  Context context = BeginWith(*drafter, {1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3});
  // After "1 2 3", which stood once before: half the mass, and three tokens.
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("chain {nodes: 9}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "3(4(5(6)))");
  EXPECT_EQ(drafter->Promise(context), 1.5);
  Commit(*drafter, {4}, context);
  EXPECT_EQ(drafter->Promise(context), 2.0);
  Commit(*drafter, {0}, context);
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("chain {nodes: 9}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "0(1)");
}

// Two say the same; a match of the text's own goes first.
TEST(Suffix, TakesTheTextsOwnMatchOnATie) {
  const std::string spec = "suffix {reset: never, offset: 1}";
  const auto drafter = MustAsk(spec);
  const auto first = drafter->Another();
  Context earlier = BeginWith(*first, {7});
  Commit(*first, {0, 1, 2, 1}, earlier);  // 2 of 2 tokens in a half of cases
  Finish(*first, earlier);
  const auto second = drafter->Another();
  Context context = BeginWith(*second, {1, 3, 4, 1});
  EXPECT_EQ(AtRoot(*second, context).Argmax(), 3);
  Commit(*second, {0, 1}, context);  // now of past texts two tokens match
  EXPECT_EQ(AtRoot(*second, context).Argmax(), 2);
}

TEST(Suffix, KeepsWhatWasSaidInEarlierPromptsIfItNeverResets) {
  const auto warm = MustAsk("suffix {reset: never, texts: 2}");
  const auto cold = MustAsk("suffix {}");
  EXPECT_NE(warm->drafter().carried(), nullptr);
  EXPECT_EQ(cold->drafter().carried(), nullptr);
  const auto after = [](const Solo& drafter, TokenId token) {
    const auto next = drafter.Another();
    const Context context = BeginWith(*next, {6, token});
    return Ranked(AtRoot(*next, context));
  };
  for (TokenId said : {1, 2, 3})
    for (Solo* drafter : {warm.get(), cold.get()}) {
      const auto own = drafter->Another();
      Context context = BeginWith(*own, {5, 7});  // no output
      Commit(*own, {said, 0}, context);
      Finish(*own, context);
    }
  EXPECT_THAT(after(*warm, 3), ElementsAre(0));
  EXPECT_THAT(after(*warm, 2), ElementsAre(0));
  EXPECT_THAT(after(*warm, 1), ElementsAre()) << "the oldest is gone";
  EXPECT_THAT(after(*warm, 5), ElementsAre()) << "a prompt is not taken over";
  EXPECT_THAT(after(*warm, 7), ElementsAre());
  EXPECT_THAT(after(*cold, 3), ElementsAre());
  ASSERT_EQ(warm->holdings().size(), 1);
  EXPECT_EQ(warm->holdings().front().unit, "texts");
  EXPECT_EQ(warm->holdings().front().held, 2);
  EXPECT_EQ(warm->holdings().front().dropped, 1);
}

// The second tree counts what this prompt emits too: one passage that was said
// twice, in an earlier prompt and in this one, is sure in one tree.
TEST(Suffix, CountsItsOwnOutputWithThatOfEarlierPrompts) {
  const auto drafter = MustAsk("suffix {reset: never}");
  const auto first = drafter->Another();
  Context earlier = BeginWith(*first, {7});
  Commit(*first, {1, 2}, earlier);
  Finish(*first, earlier);
  const auto second = drafter->Another();
  Context context = BeginWith(*second, {7});
  Commit(*second, {1, 2, 0, 1}, context);
  // After 1, of three times: 2 twice, and once the end. In the text's own tree
  // alone it is once of twice.
  EXPECT_NEAR(second->Promise(context).value(), 2.0 / 3, 1e-12);
  EXPECT_EQ(drafter->holdings().front().held, 1);
}

// What is taken over while a prompt is under way is not for it.
TEST(Suffix, SeesTheTextsOfItsBeginning) {
  const auto drafter = MustAsk("suffix {reset: never}");
  const auto early = drafter->Another();
  const auto other = drafter->Another();
  Context context = BeginWith(*other, {5});
  Commit(*other, {1, 2}, context);
  Finish(*other, context);
  EXPECT_TRUE(AtRoot(*early, BeginAsMade(*early, {1})).empty());
  const auto late = drafter->Another();
  EXPECT_EQ(AtRoot(*late, BeginWith(*late, {1})).Argmax(), 2);
}

TEST(Suffix, RefusesBytesThatItNeverSaid) {
  const auto drafter = MustAsk("suffix {reset: never}");
  const std::vector<TokenId> text = {1, 2};
  for (const std::string& learnt :
       {std::string(), std::string("\3\0\0\0", 4), std::string("12345")}) {
    EXPECT_EQ(drafter->Absorb(text, learnt).code(),
              absl::StatusCode::kDataLoss);
    EXPECT_EQ(drafter->holdings().front().held, 0);
  }
  EXPECT_THAT(drafter->Absorb(text, std::string("\3\0\0\0", 4)).message(),
              HasSubstr("a prompt of 3 tokens in a text of 2"));
}

TEST(Suffix, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& keys) {
    return Refusal(absl::StrCat("suffix {", keys, "}"));
  };
  EXPECT_EQ(refusal("depth: 24, max_tokens: 40, factor: 0.5, offset: -1, "
                    "min_probability: 1, mode: tree, reset: never, texts: 1"),
            "");
  EXPECT_THAT(refusal("depth: 1"), HasSubstr("'depth' must lie between 2 and"));
  EXPECT_THAT(refusal("max_tokens: 0"),
              HasSubstr("'max_tokens' must be at least 1"));
  EXPECT_THAT(refusal("factor: -1"), HasSubstr("'factor' must be at least 0"));
  EXPECT_THAT(refusal("min_probability: 0"),
              HasSubstr("'min_probability' must lie between 0.001 and 1"));
  EXPECT_THAT(refusal("mode: both"), HasSubstr("'mode' must be path or tree"));
  EXPECT_THAT(refusal("reset: often"),
              HasSubstr("'reset' must be prompt or never"));
  EXPECT_THAT(refusal("texts: 3"), HasSubstr("unless reset is never"));
  EXPECT_THAT(refusal("reset: never, texts: 0"),
              HasSubstr("'texts' must be at least 1"));
  EXPECT_THAT(refusal("global: 1"), HasSubstr("unknown key 'global'"));
}

}  // namespace
}  // namespace banyan
