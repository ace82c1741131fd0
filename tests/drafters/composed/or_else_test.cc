// One drafter, or else another.
#include "drafters/composed/or_else/or_else.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/drafters/counted.h"
#include "tests/drafters/trying.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// SAM decoding, or else a copy, which is counted.
class OrElseTest : public testing::Test {
 protected:
  Solo Make(int depth) {
    std::vector<std::unique_ptr<Drafter>> parts;
    parts.push_back(MustBuild("sam {threshold: 2}"));
    parts.push_back(
        std::make_unique<AskCounter>(MustBuild("copy {min_match: 1}"), asked_));
    return Solo(
        std::make_unique<OrElse>(InnerDrafters(std::move(parts)), depth));
  }
  static std::string Drafted(Solo& drafter, const Context& context) {
    return ToText(MustDraft(drafter, *PolicyOf("chain {nodes: 4}"),
                            {.context = context}));
  }

  std::shared_ptr<AskedSoFar> asked_ = std::make_shared<AskedSoFar>();
};

TEST_F(OrElseTest, HandsOverWhereTheMatchIsShort) {
  Solo drafter = Make(0);
  EXPECT_TRUE(drafter.traits().proposes_ahead);
  Context context = BeginWith(drafter, {1, 2, 3, 1, 4, 1});
  // The first 1 is followed by 2, the last one by 4.
  EXPECT_EQ(Drafted(drafter, context), "1(4(1(4(1))))");
  EXPECT_GT(asked_->nodes, 0);
  EXPECT_EQ(drafter.Promise(context), 1);
  Commit(drafter, {2}, context);
  asked_->nodes = 0;
  EXPECT_EQ(Drafted(drafter, context), "2(3(1(4(1))))");
  EXPECT_EQ(drafter.Promise(context), 2);
  EXPECT_EQ(asked_->nodes, 0) << "who does not draft is not asked";
  Commit(drafter, {5}, context);
  EXPECT_EQ(Drafted(drafter, context), "5");
  context = BeginWith(drafter, {1, 2, 3, 1, 4, 1});
  EXPECT_EQ(Drafted(drafter, context), "1(4(1(4(1))))");
}

TEST_F(OrElseTest, TheOtherDraftsNoDeeperThanItMay) {
  Solo drafter = Make(2);
  Context context = BeginWith(drafter, {1, 2, 3, 1, 4, 1});
  EXPECT_EQ(Drafted(drafter, context), "1(4(1))");
  Commit(drafter, {4, 1}, context);
  EXPECT_EQ(Drafted(drafter, context), "1(2(3(1(4))))") << "1 4 1 came again";
  EXPECT_EQ(drafter.Promise(context), 3);
  Commit(drafter, {2}, context);
  EXPECT_EQ(Drafted(drafter, context), "2(3(1(4(1))))");
}

TEST_F(OrElseTest, SequencesShareThePassesOfTheOther) {
  const Solo first = Make(0);
  const std::vector<Context> contexts = {ContextOf({1, 2, 3, 1, 4, 1}),
                                         ContextOf({1, 2, 3, 1, 2}),
                                         ContextOf({5, 3, 5, 3, 4, 5})};
  std::vector<std::unique_ptr<Solo>> own;
  std::vector<Solo*> drafters;
  for (const Context& context : contexts) {
    own.push_back(first.Another());
    drafters.push_back(own.back().get());
    ASSERT_TRUE(own.back()->Begin(context).ok());
  }
  const std::vector<TrunkTree> trees =
      DraftTogether(drafters, contexts, *PolicyOf("chain {nodes: 2}"));
  EXPECT_EQ(asked_->passes, 2) << "a level one";
  EXPECT_EQ(ToText(trees[0]), "1(4(1))");
  EXPECT_EQ(ToText(trees[1]), "2(3(1))");
  EXPECT_EQ(ToText(trees[2]), "5(3(4))");
}

TEST(OrElse, GivesTheLawsOfTheOther) {
  // A ranking can be turned into a distribution.
  for (const char* other : {"copy", "ngram", "random"})
    EXPECT_EQ(
        MustBuild(absl::StrCat("or_else {first: {name: sam}, second: {name: ",
                               other, "}}"))
            ->traits()
            .draw_kinds.size(),
        kDrawKinds.size())
        << other;
}

TEST(OrElse, CarriesOnWhatBothCarry) {
  const auto drafter = MustAsk(
      "or_else {first: {name: sam, reset: never, threshold: 1, bias: 0}, "
      "second: {name: ngram, reset: never}}");
  EXPECT_NE(drafter->drafter().carried(), nullptr);
  const auto ended = drafter->Another();
  Context context = BeginWith(*ended, {5});
  Commit(*ended, {1, 2}, context);
  Finish(*ended, context);
  const auto next = drafter->Another();
  EXPECT_EQ(AtRoot(*next, BeginWith(*next, {1})).Argmax(), 2) << "the text's";
  EXPECT_EQ(AtRoot(*next, BeginWith(*next, {5})).Argmax(), 1) << "a count's";
  ASSERT_EQ(drafter->holdings().size(), 2);
  EXPECT_EQ(drafter->holdings().front().held, 1);
  EXPECT_EQ(drafter->holdings().back().unit, "tokens");
}

TEST(OrElse, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& keys) {
    return Refusal(absl::StrCat("or_else {first: {name: sam}", keys, "}"));
  };
  EXPECT_EQ(refusal(", second: {name: copy}, depth: 0"), "");
  EXPECT_THAT(refusal(", depth: 3"), HasSubstr("missing key 'second'"));
  EXPECT_THAT(refusal(", second: {name: copy}, depth: -1"),
              HasSubstr("'depth' must be at least 1, or 0 for no limit"));
  EXPECT_THAT(refusal(", second: {name: nobody}"), HasSubstr("nobody"));
}

}  // namespace
}  // namespace banyan
