#include "drafters/text/copy/copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/dice.h"
#include "tests/support/drafting.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

Distribution Asked(Solo& drafter, const Context& context) {
  return AtRoot(drafter, context, DrawKind::kDeterministic);
}

TEST(Copy, RanksByLengthThenByRecency) {
  // "1 2" was followed by 3 and later by 5; "6 1 2" by 4, before either.
  const auto drafter = MustAsk("copy");
  const Context context =
      BeginWith(*drafter, {6, 1, 2, 4, 1, 2, 3, 1, 2, 5, 6, 1, 2});
  const Distribution scores = Asked(*drafter, context);
  EXPECT_THAT(Ranked(scores), ElementsAre(4, 5, 3));
  EXPECT_EQ(scores.Mass(4), 0.5);
  EXPECT_EQ(scores.Mass(5), 0.25);
  EXPECT_EQ(scores.Mass(3), 0.125);
}

// As the published program: one place, and a span after it.
TEST(FirstCopy, CopiesASpanFromTheEarliestPlaceOfTheLongestMatch) {
  const auto draft = [](const std::string& keys,
                        const std::vector<TokenId>& text) {
    const auto drafter = MustAsk(absl::StrCat("copy {first: true", keys, "}"),
                                 {.vocab_size = 20});
    const Context context = BeginWith(*drafter, text);
    return ToText(
        MustDraft(*drafter, *PolicyOf("chain {nodes: 12}"),
                  {.draw_kind = DrawKind::kDeterministic, .context = context}));
  };
  const std::vector<TokenId> text = {6, 1, 2, 4, 7, 1, 2, 3, 5, 1, 2};
  EXPECT_EQ(draft(", span: 3", text), "2(4(7(1)))") << "not 3, the latest";
  EXPECT_EQ(draft("", text), "2(4(7(1(2(3(5(1(2))))))))")
      << "to the text's end";
  // One of three tokens is longer than the first of two.
  EXPECT_EQ(draft(", span: 2", {1, 2, 4, 7, 1, 2, 3, 5, 7, 1, 2}), "2(3(5))");
  EXPECT_EQ(draft(", max_match: 2, span: 2", {1, 2, 4, 7, 1, 2, 3, 7, 1, 2}),
            "2(4(7))");
  EXPECT_EQ(draft(", max_match: 2, history: 6, span: 2",
                  {1, 2, 4, 7, 1, 2, 3, 7, 1, 2}),
            "2(3(7))");
  EXPECT_EQ(draft("", {1, 2, 3}), "3");
  EXPECT_EQ(draft(", min_match: 1", {3, 3}), "3(3)") << "over itself";
}

TEST(FirstCopy, GoesOnWhereTheTextDid) {
  const auto drafter = MustAsk("copy {first: true, span: 2}");
  Context context = BeginWith(*drafter, {1, 2, 3, 4, 1, 2});
  EXPECT_EQ(Asked(*drafter, context).Argmax(), 3);
  Commit(*drafter, {3, 4}, context);
  EXPECT_EQ(Asked(*drafter, context).Argmax(), 1);
  EXPECT_THAT(Refusal("copy {span: 2}"), HasSubstr("`first` is not set"));
  EXPECT_THAT(Refusal("copy {first: true, span: 0}"),
              HasSubstr("must lie between 1 and 1024"));
}

TEST(Copy, CopiesAPassageToItsEnd) {
  const auto drafter = MustAsk("copy", {.vocab_size = 20});
  const Context context =
      BeginWith(*drafter, {9, 10, 11, 12, 13, 14, 15, 3, 9, 10});
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("chain {nodes: 8}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "10(11(12(13(14(15(3(9(10))))))))")
      << "after the passage comes what came after it, the second copy too";
}

TEST(Copy, LooksInTheCommittedTextAlone) {
  // On the path, "4 1 2 3" is drafted again; after its first time came a 4,
  // but that was only drafted. What was committed knows "1 2 3" before 9.
  const auto drafter = MustAsk("copy", {.vocab_size = 10});
  const Context context = BeginWith(*drafter, {1, 2, 3, 9, 2, 3, 4, 1, 2});
  const TrunkTree tree =
      ParseGrowth("2(3(4(1(2(3)))))", 0, DrawKind::kDeterministic, 10);
  const std::vector<int> last = {5};
  const auto proposals = drafter->Propose(context, tree, last);
  ASSERT_TRUE(proposals.ok()) << proposals.status();
  EXPECT_THAT(Ranked(proposals->front()), ElementsAre(9, 4));
}

TEST(Copy, OfNewWordsDraftsNothing) {
  const auto drafter = MustAsk("copy {min_match: 1}");
  EXPECT_TRUE(Asked(*drafter, BeginWith(*drafter, {4, 5, 6})).empty());
}

TEST(Copy, GrowsTrees) {
  const auto drafter = MustAsk("copy {min_match: 1}");
  const Context context = BeginWith(*drafter, {1, 2, 1, 3, 1});
  EXPECT_EQ(ToText(MustDraft(
                *drafter, *PolicyOf("expansion {branching: [2, 1]}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "1(3(1) 2(1))");
}

TEST(Copy, MatchesNoShorterThanItShould) {
  const std::vector<TokenId> text = {1, 2, 3, 4, 2, 3};
  for (const auto& [spec, found] : std::vector<std::pair<std::string, bool>>{
           {"copy {min_match: 2}", true}, {"copy {min_match: 3}", false}}) {
    const auto drafter = MustAsk(spec);
    EXPECT_EQ(!Asked(*drafter, BeginWith(*drafter, text)).empty(), found)
        << spec;
  }
}

TEST(Copy, OfOneTokenDraftsNothing) {
  const auto drafter = MustAsk("copy {min_match: 1}");
  EXPECT_TRUE(Asked(*drafter, BeginWith(*drafter, {1})).empty());
}

TEST(Copy, BeginForgetsThePreviousPrompt) {
  const auto drafter = MustAsk("copy {min_match: 1}");
  BeginWith(*drafter, {1, 2, 1});
  EXPECT_TRUE(Asked(*drafter, BeginWith(*drafter, {1})).empty());
  EXPECT_EQ(drafter->drafter().carried(), nullptr);
}

TEST(Copy, GivesNoMoreCandidatesThanScoresAreGoodFor) {
  const auto drafter = MustAsk(
      "copy {min_match: 1, max_match: 1, "
      "history: 0}",
      {.vocab_size = 200});
  std::vector<TokenId> text;
  for (TokenId token = 1; token < 150; ++token) {
    text.push_back(0);
    text.push_back(token);
  }
  text.push_back(0);
  const std::vector<TokenId> ranked =
      Ranked(Asked(*drafter, BeginWith(*drafter, text)));
  ASSERT_EQ(ranked.size(), 64);
  EXPECT_EQ(ranked.front(), 149);
  EXPECT_EQ(ranked.back(), 86);
}

// Every earlier place, with the length of its match; the best of each token;
// best first.
std::vector<TokenId> Naive(const std::vector<TokenId>& committed,
                           const std::vector<TokenId>& path,
                           const CopyOptions& options) {
  std::vector<TokenId> text = committed;
  text.insert(text.end(), path.begin(), path.end());
  std::size_t begin = 0;
  if (options.history > 0 &&
      committed.size() > static_cast<std::size_t>(options.history))
    begin = committed.size() - static_cast<std::size_t>(options.history);
  std::vector<std::tuple<int, std::size_t, TokenId>> places;
  for (std::size_t at = begin + 1; at < committed.size(); ++at) {
    int match = 0;
    while (match < options.max_match &&
           begin + static_cast<std::size_t>(match) < at &&
           static_cast<std::size_t>(match) < text.size() &&
           committed[at - 1 - static_cast<std::size_t>(match)] ==
               text[text.size() - 1 - static_cast<std::size_t>(match)])
      ++match;
    if (match >= options.min_match)
      places.emplace_back(match, at, committed[at]);
  }
  std::sort(places.rbegin(), places.rend());
  std::vector<TokenId> ranked;
  for (const auto& [match, at, token] : places)
    if (std::find(ranked.begin(), ranked.end(), token) == ranked.end())
      ranked.push_back(token);
  return ranked;
}

TEST(Copy, FindsWhatALookAtEveryPlaceFinds) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int letters = dice.Between(2, 4);
    CopyOptions options;
    options.max_match = dice.Between(1, 5);
    options.min_match = dice.Between(1, options.max_match);
    options.history =
        dice.OneIn(3) ? 0 : options.max_match + dice.Between(1, 20);
    Solo drafter(std::make_unique<Copy>(letters, options));
    Context context = BeginWith(drafter, {dice.Below(letters)});
    for (int round = 0; round < 25; ++round) {
      const TrunkTree tree = MustDraft(
          drafter, *PolicyOf("expansion {branching: [2, 2, 1]}"),
          {.draw_kind = DrawKind::kDeterministic, .context = context});
      for (int node = 0; node < tree.size(); ++node) {
        if (tree.proposal(node) == nullptr) continue;
        ++compared;
        ASSERT_THAT(Ranked(tree.proposal(node)->q),
                    ElementsAreArray(
                        Naive(context.tokens, TokensTo(tree, node), options)))
            << ToText(tree) << " node " << node;
      }
      std::vector<TokenId> emitted;
      for (int i = dice.Between(1, 4); i > 0; --i)
        emitted.push_back(dice.Below(letters));
      if (!dice.OneIn(4)) Commit(drafter, emitted, context);
    }
  }
  EXPECT_GT(compared, 3000);
}

TEST(Copy, RanksAndIsNoLaw) {
  EXPECT_THAT(MustBuild("copy")->traits().draw_kinds,
              ElementsAre(DrawKind::kDeterministic));
}

TEST(Copy, RefusesWhatCannotBe) {
  EXPECT_THAT(Refusal("copy {max_match: 65}"),
              HasSubstr("'max_match' must lie between 1 and 64, found '65'"));
  EXPECT_THAT(Refusal("copy {max_match: 0}"), HasSubstr("found '0'"));
  EXPECT_THAT(Refusal("copy {min_match: 0}"),
              HasSubstr("between 1 and max_match, which is 8, found '0'"));
  EXPECT_THAT(Refusal("copy {min_match: 9}"), HasSubstr("found '9'"));
  EXPECT_THAT(Refusal("copy {history: 8}"),
              HasSubstr("must be more than max_match, which is 8, or 0 for "
                        "all, found '8'"));
  EXPECT_THAT(Refusal("copy {reset: never}"), HasSubstr("unknown key 'reset'"));
  EXPECT_THAT(Refusal("copy {history: 9}"), IsEmpty());
}

TEST(Copy, PromisesAsManyTokensAsMatch) {
  const auto copy = MustAsk("copy {min_match: 2, max_match: 3}");
  const auto promise = [&](std::vector<TokenId> prompt) {
    return copy->Promise(BeginWith(*copy, std::move(prompt)));
  };
  EXPECT_EQ(promise({1, 2, 3, 4}), 0);
  EXPECT_EQ(promise({4, 1, 2, 4}), 0) << "one token is no match";
  EXPECT_EQ(promise({3, 4, 1, 2, 3, 4}), 2);
  EXPECT_EQ(promise({2, 3, 4, 1, 2, 3, 4}), 3);
  EXPECT_EQ(promise({1, 2, 3, 4, 0, 1, 2, 3, 4}), 3) << "at most max_match";
  EXPECT_EQ(promise({4, 4, 4}), 2) << "after which the text ends";
  EXPECT_EQ(promise({1}), 0);
}

}  // namespace
}  // namespace banyan
