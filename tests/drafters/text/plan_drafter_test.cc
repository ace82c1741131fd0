#include "drafters/text/plan_drafter.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/text/carried_texts.h"
#include "drafters/text/token_counts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/asking.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::ElementsAre;

TEST(DraftPlan, IsATrieWithScores) {
  DraftPlan plan;
  const int three = plan.Add(0, 3, 2);
  const int one = plan.Add(0, 1, 0.5);
  const int after = plan.Add(three, 1, 4);
  EXPECT_EQ(plan.size(), 4);
  EXPECT_EQ(plan.Child(0, 3), three);
  EXPECT_EQ(plan.Child(0, 1), one);
  EXPECT_EQ(plan.Child(0, 2), -1);
  EXPECT_EQ(plan.Find({}), 0);
  EXPECT_EQ(plan.Find({3, 1}), after);
  EXPECT_EQ(plan.Find({1, 1}), -1);
  EXPECT_EQ(plan.Find({2, 1, 1}), -1);
  EXPECT_EQ(plan.depth(0), 0);
  EXPECT_EQ(plan.depth(after), 2);
  EXPECT_EQ(plan.node(after).score, 4);
  const DraftPlan chain = DraftPlan::Chain({5, 5, 6});
  EXPECT_EQ(chain.size(), 4);
  EXPECT_EQ(chain.depth(chain.Find({5, 5, 6})), 3);
}

// Plans 3 after which 1 or 2 comes, or 1, after any text that ends in 0.
class Planning : public PlanSession {
 public:
  std::vector<std::string> told;

 protected:
  void Start(const Context& /*context*/) override {
    told.emplace_back("start");
  }
  absl::Status Follow(const Context& context) override {
    told.push_back(std::to_string(context.tokens.size()));
    return context.tokens.size() > 6 ? absl::DataLossError("too long")
                                     : absl::OkStatus();
  }
  DraftPlan Plan(const Context& context) override {
    DraftPlan plan;
    if (context.root() != 0) return plan;
    const int three = plan.Add(0, 3, 3);
    plan.Add(0, 1, 1);
    plan.Add(0, 4, 5);  // none of the vocabulary
    plan.Add(three, 1, 0.25);
    plan.Add(three, 2, 0.25);
    return plan;
  }
};

// In a vocabulary of four.
class Planner : public PlanDrafter {
 public:
  explicit Planner(const std::optional<CountRule>& rule = {})
      : PlanDrafter(4, rule, /*carried=*/nullptr) {}
  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<Planning>();
  }
};

const std::vector<std::string>& ToldTo(const Solo& drafter) {
  return static_cast<const Planning&>(drafter.session()).told;
}

TEST(PlanDrafter, ProposesWhatItPlanned) {
  Solo drafter(std::make_unique<Planner>());
  const Context context = ContextOf({1, 0});
  ASSERT_TRUE(drafter.Begin(context).ok());
  EXPECT_EQ(ToldTo(drafter), std::vector<std::string>({"start", "2"}));
  EXPECT_EQ(drafter.traits().draw_kinds,
            std::vector<DrawKind>({DrawKind::kDeterministic}));
  EXPECT_TRUE(drafter.traits().proposes_ahead);
  EXPECT_THAT(Masses(AtRoot(drafter, context, DrawKind::kDeterministic)),
              ElementsAre(0, 1, 0, 3));
  EXPECT_EQ(ToText(MustDraft(
                drafter, *PolicyOf("expansion {branching: [2, 2, 2]}"),
                {.draw_kind = DrawKind::kDeterministic, .context = context})),
            "0(3(1 2) 1)");
}

TEST(PlanDrafter, WithARuleGivesEveryLaw) {
  Solo drafter(
      std::make_unique<Planner>(CountRule(SamplingRule({.temperature = 0.5}))));
  const Context context = ContextOf({1, 0});
  ASSERT_TRUE(drafter.Begin(context).ok());
  EXPECT_EQ(drafter.traits().draw_kinds.size(), kDrawKinds.size());
  EXPECT_THAT(Masses(AtRoot(drafter, context, DrawKind::kDeterministic)),
              ElementsAre(0, 1, 0, 3));
  const Distribution law =
      AtRoot(drafter, context, DrawKind::kWithoutReplacement);
  EXPECT_NEAR(law.Mass(3) / law.Mass(1), 9, 1e-12) << "3 to 1, squared";
}

TEST(PlanDrafter, PromisesTheSharesOnItsWays) {
  Solo drafter(std::make_unique<Planner>());
  const Context context = ContextOf({1, 0});
  ASSERT_TRUE(drafter.Begin(context).ok());
  // Counts of 9 in all; below 3 shares that leave a half to others.
  EXPECT_NEAR(drafter.Promise(context).value(),
              3.0 / 9 + 1.0 / 9 + 5.0 / 9 + 3.0 / 9 * 0.5, 1e-12);
  const Context other = ContextOf({1});
  ASSERT_TRUE(drafter.Begin(other).ok());
  EXPECT_EQ(drafter.Promise(other), 0.0);
  EXPECT_TRUE(AtRoot(drafter, other, DrawKind::kDeterministic).empty());
}

TEST(PlanDrafter, PlansAnewWhenTheTextHasGrown) {
  Solo drafter(std::make_unique<Planner>());
  Context context = ContextOf({1, 0});
  ASSERT_TRUE(drafter.Begin(context).ok());
  Commit(drafter, {2}, context);
  EXPECT_TRUE(AtRoot(drafter, context, DrawKind::kDeterministic).empty());
  Commit(drafter, {0}, context);
  EXPECT_FALSE(AtRoot(drafter, context, DrawKind::kDeterministic).empty());
  EXPECT_EQ(ToldTo(drafter),
            std::vector<std::string>({"start", "2", "3", "4"}));
  EXPECT_EQ(drafter.Begin(ContextOf({1, 1, 1, 1, 1, 1, 0})).message(),
            "too long");
}

TEST(CopyOnWrite, IsSharedUntilSomebodyChangesIt) {
  CopyOnWrite<std::vector<int>> first(std::vector<int>{1});
  CopyOnWrite<std::vector<int>> second = first;
  EXPECT_EQ(&*first, &*second);
  second.Own().push_back(2);
  EXPECT_EQ(*first, std::vector<int>({1}));
  EXPECT_EQ(*second, std::vector<int>({1, 2}));
  const std::vector<int>* place = &*second;
  second.Own().push_back(3);
  EXPECT_EQ(&*second, place) << "nobody else reads it";
  CopyOnWrite<std::vector<int>> third = second;
  second.Release();
  EXPECT_EQ(&third.Own(), place);
}

}  // namespace
}  // namespace banyan
