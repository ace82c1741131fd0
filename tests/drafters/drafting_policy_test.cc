// How drafting, the policy and the drafter talk to each other.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "drafters/drafting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/draft_trunk.h"
#include "tests/support/drafting.h"
#include "tests/support/fake_policy.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

TEST(Drafting, AsksThePolicyAgainBeforeItDraws) {
  // Draws only where the proposal is sure; it must see it first.
  const FakePolicy policy([](const TrunkTree& tree) {
    std::vector<Expansion> next;
    for (int node = 0; node < tree.size(); ++node) {
      const Proposal* proposal = tree.proposal(node);
      if (!tree.open(node) || !tree.draws(node).empty()) continue;
      if (proposal == nullptr || proposal->q.Mass(0) == 1)
        next.push_back({.node = node});
    }
    return next;
  });
  TableDrafter drafter([](absl::Span<const TokenId> text) {
    return text.size() < 4 ? Distribution::OneHot(2, 0)
                           : Distribution::Dense({0.5, 0.5});
  });
  EXPECT_EQ(ToText(MustDraft(drafter, policy)), "0(0(0(0)))");
  EXPECT_EQ(drafter.passes().size(), 4) << "the last one drew nothing";
}

TEST(Drafting, AnEmptyProposalEndsItsBranchAlone) {
  TableDrafter drafter([](absl::Span<const TokenId> text) {
    return text.back() == 1 ? Distribution::Dense({0, 0})
                            : Distribution::Dense({0.5, 0.5});
  });
  for (DrawKind draw_kind :
       {DrawKind::kWithoutReplacement, DrawKind::kDeterministic})
    EXPECT_EQ(MustDraft(drafter, *PolicyOf("expansion {branching: [2, 2, 2]}"),
                        {.draw_kind = draw_kind})
                  .size(),
              7)
        << "two children below every 0, none below a 1";
}

TEST(Drafting, EqualSeedsGrowEqualTrees) {
  const auto grown = [](std::uint64_t seed, int trunk, std::uint32_t round) {
    TableDrafter drafter(Toy({.vocab_size = 8}));
    Context context = ContextOf({0});
    context.round = round;
    return ToText(MustDraft(
        drafter, *PolicyOf("expansion {branching: [3, 3]}"),
        {.seed = seed, .context = std::move(context), .trunk = trunk}));
  };
  EXPECT_EQ(grown(1, 0, 0), grown(1, 0, 0));
  EXPECT_NE(grown(1, 0, 0), grown(2, 0, 0));
  EXPECT_NE(grown(1, 0, 0), grown(1, 1, 0)) << "trunks share randomness";
  EXPECT_NE(grown(1, 0, 0), grown(1, 0, 1)) << "rounds share randomness";
}

TEST(Drafting, NoTwoDrawsOfARoundShareRandomness) {
  const Context context = ContextOf({0});
  EnumeratingSource source(2000);  // ends the program on a repeated key
  const std::unique_ptr<TreePolicy> policy =
      PolicyOf("expansion {branching: [2, 1]}");
  do {
    for (int trunk = 0; trunk < 2; ++trunk) {
      TableDrafter drafter(Toy({.vocab_size = 2, .seed = trunk}));
      BlankSession session;
      ASSERT_TRUE(
          DraftTrunk({drafter, session, *policy, DrawKind::kIndependent, trunk},
                     context, {.max_depth = 9},
                     Chance(source, context.prompt, context.round))
              .ok());
    }
  } while (source.Advance());
  EXPECT_FALSE(source.exhausted());
}

// Two draws at the root; the second child takes the draws of the first.
FakePolicy Sharing() {
  return FakePolicy([](const TrunkTree& tree) -> std::vector<Expansion> {
    if (tree.draws(0).empty()) return {{.node = 0, .draws = 2}};
    if (tree.size() < 3 || !tree.draws(1).empty()) return {};
    return {{.node = 1, .draws = 3}, {.node = 2, .same_as = 1}};
  });
}

TEST(Drafting, SharedDrawsAreTheSameAndSaySo) {
  for (DrawKind draw_kind : kDrawKinds) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      TableDrafter drafter(DepthToy({.vocab_size = 4}));
      const TrunkTree tree =
          MustDraft(drafter, Sharing(), {.draw_kind = draw_kind, .seed = seed});
      if (tree.draws(0).size() < 2 || tree.multiplicity(1) == 2) continue;
      ASSERT_EQ(tree.draws(1).size(), 3);
      ASSERT_EQ(tree.draws(2).size(), 3);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(tree.draws(1)[i].token, tree.draws(2)[i].token);
        EXPECT_TRUE(
            Equal(tree.draws(1)[i].proposal, tree.draws(2)[i].proposal));
      }
      EXPECT_FALSE(tree.node(0).lists[0].shared_draws);
      EXPECT_TRUE(tree.node(1).lists[0].shared_draws);
      EXPECT_TRUE(tree.node(2).lists[0].shared_draws);
    }
  }
}

TEST(Drafting, DrawsAreNotSharedBetweenDifferentProposals) {
  for (DrawKind draw_kind :
       {DrawKind::kWithoutReplacement, DrawKind::kDeterministic}) {
    Solo drafter(std::make_unique<TableDrafter>(Toy({.vocab_size = 4})));
    const absl::StatusOr<TrunkTree> tree =
        TryDraft(drafter, Sharing(), {.draw_kind = draw_kind});
    EXPECT_EQ(tree.status().code(), absl::StatusCode::kFailedPrecondition)
        << Name(draw_kind);
    EXPECT_THAT(std::string(tree.status().message()),
                HasSubstr("nodes 1 and 2"));
  }
}

TEST(Drafting, ScoresAreSharedAsLawsAre) {
  // Scores: below a sum of 1, where the sum of minima says nothing by itself.
  const auto grown = [](double other) {
    Solo drafter(
        std::make_unique<TableDrafter>([other](absl::Span<const TokenId> text) {
          return text.back() == 1 ? Distribution::Dense({0.25, other, 0})
                                  : Distribution::Dense({0.25, 0.125, 0});
        }));
    return TryDraft(drafter, Sharing(), {.draw_kind = DrawKind::kDeterministic})
        .status();
  };
  EXPECT_EQ(grown(0.125), absl::OkStatus());
  EXPECT_EQ(grown(0.25).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Drafting, TheRootsDrawsAreSharedAsAnyNodesAre) {
  const FakePolicy policy([](const TrunkTree& tree) {
    std::vector<Expansion> next;
    if (tree.draws(0).empty())
      next.push_back({.node = 0, .draws = 3});
    else if (tree.draws(1).empty())
      next.push_back({.node = 1, .same_as = 0});
    return next;
  });
  TableDrafter drafter([](absl::Span<const TokenId>) {
    return Distribution::Dense({0.5, 0.3, 0.2});
  });
  const TrunkTree tree = MustDraft(drafter, policy);
  ASSERT_EQ(tree.draws(1).size(), 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(tree.draws(1)[i].token, tree.draws(0)[i].token);
  EXPECT_TRUE(tree.node(0).lists[0].shared_draws);
  EXPECT_TRUE(tree.node(1).lists[0].shared_draws);
}

class Failing : public TableDrafter {
 public:
  Failing() : TableDrafter(Toy({})) {}
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    if (requests[0].nodes[0] > 0)
      return absl::ResourceExhaustedError("no room");
    return TableDrafter::Propose(requests);
  }
};

TEST(Drafting, FailsAsTheDrafterFails) {
  Solo drafter(std::make_unique<Failing>());
  EXPECT_EQ(TryDraft(drafter, *PolicyOf("chain {nodes: 3}")).status(),
            absl::ResourceExhaustedError("no room"));
  EXPECT_TRUE(TryDraft(drafter, *PolicyOf("chain {nodes: 1}")).ok());
}

TEST(GrowDeathTest, AClosedNodeCannotBeExpanded) {
  TableDrafter drafter(Toy({}));
  const FakePolicy policy(
      [](const TrunkTree&) -> std::vector<Expansion> { return {{.node = 0}}; });
  EXPECT_DEATH(MustDraft(drafter, policy, {.limits = {.max_depth = 0}}),
               "closed");
}

TEST(GrowDeathTest, DrawsOfANodeWithoutAnyCannotBeShared) {
  TableDrafter drafter(Toy({.vocab_size = 4}));
  const FakePolicy policy([](const TrunkTree& tree) -> std::vector<Expansion> {
    if (tree.draws(0).empty()) return {{.node = 0, .draws = 2}};
    return {{.node = 1, .same_as = 2}};
  });
  EXPECT_DEATH(
      MustDraft(drafter, policy, {.draw_kind = DrawKind::kWithoutReplacement}),
      "a node that has none");
}

TEST(GrowthDeathTest, IsAnsweredWhatItAskedAndTakenWhenItEnded) {
  TableDrafter drafter(Toy({}));
  const auto policy = PolicyOf("chain {nodes: 1}");
  const Context context = ContextOf({0});
  EnumeratingSource source(1);
  BlankSession session;
  Drafting drafting(
      {TrunkView{drafter, session, *policy, DrawKind::kIndependent, 0}},
      context, {.max_depth = 9}, Chance(source, context.prompt, context.round));
  ASSERT_TRUE(drafting.Advance().ok());
  ASSERT_EQ(drafting.wanted(), std::vector<int>({0}));
  EXPECT_DEATH(drafting.Answer({}).IgnoreError(), "one proposal a node");
  EXPECT_DEATH(std::move(drafting).Take(), "before it ended");
}

}  // namespace
}  // namespace banyan
