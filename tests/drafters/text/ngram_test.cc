#include "drafters/text/ngram/ngram.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;

// Up to the rounding of quotients, logarithms and exponentials.
auto Near(const std::vector<double>& masses) {
  return Pointwise(DoubleNear(1e-15), masses);
}

// The words of the example that comes with akunu's predictor.
enum Word : TokenId { kThe, kCat, kSat, kOn, kMat, kStop, kDown, kAnd };

std::string ChainOf(Solo& drafter, const Context& context, DrawKind draw_kind) {
  return ToText(MustDraft(drafter, *PolicyOf("chain {nodes: 4}"),
                          {.draw_kind = draw_kind, .context = context}));
}

// A prompt that has ended.
void Tell(Solo& drafter, std::vector<TokenId> text) {
  Finish(drafter, BeginWith(drafter, std::move(text)));
}

// "the cat sat" was followed by "on" twice and by "down" once; "the mat" alone,
// not "on the mat", was followed by anything.
Context TellTheExample(Solo& drafter) {
  Tell(drafter, {kThe, kCat, kSat, kDown});
  Tell(drafter, {kThe, kCat, kSat, kOn, kThe, kMat});
  Tell(drafter, {kThe, kCat, kSat, kOn, kThe, kMat});
  return BeginWith(drafter, {kThe, kMat, kStop, kThe, kCat, kSat});
}

TEST(NGram, DraftsTheExampleOfItsSource) {
  const auto drafter = MustAsk("ngram {reset: never}");
  const Context context = TellTheExample(*drafter);
  EXPECT_THAT(Masses(AtRoot(*drafter, context)),
              ElementsAre(0, 0, 0, 2, 0, 0, 1, 0));
  // Steps 0 to 2 by four-grams; step 3 backs off to "the mat" -> ".".
  EXPECT_EQ(ChainOf(*drafter, context, DrawKind::kDeterministic),
            "2(3(0(4(5))))");
}

TEST(NGram, AGreedyRuleMakesItTheSourcesPredictor) {
  const auto drafter =
      MustAsk("ngram {reset: never}", {.sampling = {.temperature = 0}});
  const Context context = TellTheExample(*drafter);
  for (DrawKind draw_kind : kDrawKinds)
    EXPECT_EQ(ChainOf(*drafter, context, draw_kind), "2(3(0(4(5))))")
        << Name(draw_kind);
  EXPECT_TRUE(Equal(AtRoot(*drafter, context), Distribution::OneHot(8, kOn)));
  EXPECT_THAT(Ranked(AtRoot(*drafter, context, DrawKind::kDeterministic)),
              ElementsAre(kOn, kDown))
      << "ranked candidates are more than one";
}

TEST(NGram, KeepsThePromptsApart) {
  const auto prompt = MustAsk("ngram");
  const auto never = MustAsk("ngram {reset: never}");
  EXPECT_EQ(prompt->drafter().carried(), nullptr);
  EXPECT_NE(never->drafter().carried(), nullptr);
  for (const auto* drafter : {&prompt, &never}) {
    Tell(**drafter, {1, 2});
    Tell(**drafter, {3, 4});
  }
  const Context context = BeginWith(*prompt, {1});
  EXPECT_TRUE(AtRoot(*prompt, context).empty());
  EXPECT_THAT(Ranked(AtRoot(*never, BeginWith(*never, {1}))), ElementsAre(2));
  EXPECT_TRUE(AtRoot(*never, BeginWith(*never, {2})).empty())
      << "3 came after 2, but in another prompt";
}

TEST(NGram, BreaksTiesByTheLaterOccurrence) {
  const std::vector<TokenId> tie = {0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0};
  const auto drafter = MustAsk("ngram {max_order: 2}");
  const auto greedy = MustAsk(
      "ngram {max_order: 2, sampling: "
      "{temperature: 0}}");
  Context context = BeginWith(*drafter, tie);
  EXPECT_THAT(Ranked(AtRoot(*drafter, context, DrawKind::kDeterministic)),
              ElementsAre(2, 1, 3));
  EXPECT_THAT(Masses(AtRoot(*drafter, context)),
              ElementsAre(0, 2, 2, 1, 0, 0, 0, 0));
  context = BeginWith(*greedy, tie);
  EXPECT_EQ(AtRoot(*greedy, context).Argmax(), 2);
  Commit(*greedy, {1, 0, 1, 0, 2, 0}, context);
  EXPECT_EQ(AtRoot(*greedy, context).Argmax(), 1) << "more counts";
}

TEST(NGram, BacksOffNoFurtherThanItsLeastOrder) {
  const std::vector<TokenId> text = {5, 1, 2, 3, 1, 4, 6, 2};
  const auto two = MustAsk("ngram");
  const auto three = MustAsk("ngram {min_order: 3}");
  EXPECT_THAT(Ranked(AtRoot(*two, BeginWith(*two, text))), ElementsAre(3));
  EXPECT_TRUE(AtRoot(*three, BeginWith(*three, text)).empty());
  // The longest known context alone counts: 1 was followed by 4 too.
  EXPECT_THAT(Ranked(AtRoot(*two, BeginWith(*two, {5, 1, 2, 1, 4, 5, 1}))),
              ElementsAre(2));
}

TEST(NGram, OfOneTokenDraftsNothing) {
  for (const char* spec : {"ngram", "ngram {history: 0, reset: never}"}) {
    const auto drafter = MustAsk(spec);
    const Context context = BeginWith(*drafter, {3});
    for (DrawKind draw_kind : kDrawKinds)
      EXPECT_EQ(ChainOf(*drafter, context, draw_kind), "3");
  }
}

TEST(NGram, ForgetsWhatLeftTheHistory) {
  const auto drafter = MustAsk("ngram {max_order: 2, history: 4}");
  Context context = BeginWith(*drafter, {0, 1, 2, 0});
  EXPECT_THAT(Ranked(AtRoot(*drafter, context)), ElementsAre(1));
  Commit(*drafter, {0}, context);
  EXPECT_THAT(Ranked(AtRoot(*drafter, context)), ElementsAre(0));
}

TEST(NGram, ABeginTokenOutsideTheVocabularyIsNeverDrafted) {
  const auto drafter = MustAsk("ngram", {.vocab_size = 3});
  const Context context = BeginWith(*drafter, {3, 1, 3, 2, 0, 3});
  EXPECT_THAT(Masses(AtRoot(*drafter, context)), ElementsAre(0, 1, 1));
}

TEST(NGram, GrowsTreesByEveryLaw) {
  const auto drafter = MustAsk("ngram {max_order: 2}");
  const Context context = BeginWith(*drafter, {1, 2, 1, 3, 1, 2, 1});
  for (DrawKind draw_kind :
       {DrawKind::kWithoutReplacement, DrawKind::kDeterministic})
    EXPECT_EQ(MustDraft(*drafter, *PolicyOf("expansion {branching: [2, 2, 2]}"),
                        {.draw_kind = draw_kind, .context = context})
                  .size(),
              1 + 2 + 2 + 4)
        << "after 1 come 2 and 3, after those comes 1 alone";
  EXPECT_THAT(drafter->traits().draw_kinds,
              testing::UnorderedElementsAreArray(kDrawKinds));
}

TEST(NGram, TakesASamplingRuleOfItsOwn) {
  const std::vector<TokenId> text = {0, 1, 0, 1, 0, 2, 0};
  const auto warm = MustAsk("ngram {max_order: 2}",
                            {.vocab_size = 3, .sampling = {.top_k = 1}});
  const auto own = MustAsk("ngram {max_order: 2, sampling: {temperature: 0.5}}",
                           {.vocab_size = 3, .sampling = {.temperature = 0}});
  EXPECT_THAT(Masses(AtRoot(*warm, BeginWith(*warm, text))),
              ElementsAre(0, 1, 0));
  EXPECT_THAT(Masses(AtRoot(*own, BeginWith(*own, text))), Near({0, 0.8, 0.2}));
}

TEST(NGram, RefusesWhatCannotBe) {
  EXPECT_THAT(Refusal("ngram {max_order: 9}"),
              HasSubstr("drafter ngram: 'max_order' must lie between 2 and 8, "
                        "found '9'"));
  EXPECT_THAT(Refusal("ngram {max_order: 1}"), HasSubstr("between 2 and 8"));
  EXPECT_THAT(Refusal("ngram {min_order: 1}"),
              HasSubstr("between 2 and max_order, which is 4, found '1'"));
  EXPECT_THAT(Refusal("ngram {max_order: 2, min_order: 3}"),
              HasSubstr("which is 2, found '3'"));
  EXPECT_THAT(Refusal("ngram {history: 3}"),
              HasSubstr("must hold max_order tokens, which is 4, or be 0 for "
                        "all, found '3'"));
  EXPECT_THAT(Refusal("ngram {history: -1}"), HasSubstr("found '-1'"));
  EXPECT_THAT(Refusal("ngram {reset: always}"),
              HasSubstr("must be prompt or never, found 'always'"));
  EXPECT_THAT(Refusal("ngram {order: 3}"), HasSubstr("unknown key 'order'"));
  EXPECT_THAT(Refusal("ngram {sampling: {temperature: -1}}"),
              HasSubstr("must not be negative"));
  EXPECT_THAT(Refusal("ngram {history: 4}"), IsEmpty());
  EXPECT_THAT(Refusal("ngram {max_order: 8, min_order: 8, history: 0}"),
              IsEmpty());
}

}  // namespace
}  // namespace banyan
