// What a joint shape's policy draws, and whom it asks when.
#include "tree/policies/joint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/prob/distribution.h"
#include "tests/conformance/pairing.h"
#include "tests/support/grow_together.h"
#include "tree/draft_tree.h"
#include "tree/optimize/joint_shape.h"
#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr int kTokens = 8;

// Drafter d ranks the tokens from d on.
Distribution From(int drafter, int count = kTokens) {
  std::vector<double> masses(kTokens, 0);
  for (int i = 0; i < count; ++i)
    masses[static_cast<std::size_t>((drafter + i) % kTokens)] = count - i;
  return Distribution::Dense(std::move(masses)).Normalized();
}

// Drafters of the draws at a node, in the order of time.
std::vector<int> DraftersAt(const DraftTree& tree, int node) {
  struct At {
    int time;
    int drafter;
  };
  std::vector<At> all;
  for (const DrawList& list : tree.node(node).lists)
    for (const Draw& draw : list.draws) all.push_back({draw.time, list.trunk});
  std::sort(all.begin(), all.end(),
            [](const At& a, const At& b) { return a.time < b.time; });
  std::vector<int> drafters;
  for (const At& at : all) drafters.push_back(at.drafter);
  return drafters;
}

// The root has draws of drafters 0, 1, 0, 2; below the first one of 1, below
// the second one of 0 and of 2, below the fourth one of 0.
const JointShape kShape = {{{-1, 0, 1, 0, 3, 3, 0, 0, 7}},
                           {-1, 0, 1, 1, 0, 2, 0, 2, 0}};

TEST(Joint, DrawsWhatItsShapeSays) {
  const Joint policy(kShape, 3);
  EXPECT_EQ(policy.traits().nodes, 8);
  EXPECT_EQ(policy.traits().levels, 2);
  EXPECT_EQ(policy.traits().drafters, 3);
  TimesAsked asked;
  const DraftTree tree = GrowTogether(
      policy, 3,
      [](const GrowingTree&, int, int drafter) { return From(drafter); },
      &asked);
  EXPECT_EQ(tree.Drafted(), 8) << "no token is drawn twice at a node";
  EXPECT_THAT(DraftersAt(tree, 0), ElementsAre(0, 1, 0, 2));
  const std::vector<int>& children = tree.node(0).children;
  ASSERT_EQ(children.size(), 4U);
  EXPECT_THAT(DraftersAt(tree, children[0]), ElementsAre(1));
  EXPECT_THAT(DraftersAt(tree, children[1]), ElementsAre(0, 2));
  EXPECT_THAT(DraftersAt(tree, children[2]), ElementsAre());
  EXPECT_THAT(DraftersAt(tree, children[3]), ElementsAre(0));
  EXPECT_THAT(asked, ElementsAre(2, 2, 2)) << "once a level";
}

TEST(Joint, LeavesOutWhatADrafterCannotDraw) {
  const Joint policy(kShape, 3);
  // Drafter 0 has one token, drafter 2 none at the root.
  const DraftTree tree =
      GrowTogether(policy, 3, [](const GrowingTree&, int node, int drafter) {
        if (drafter == 0) return From(0, 1);
        if (drafter == 2 && node == 0) return Distribution();
        return From(drafter);
      });
  EXPECT_THAT(DraftersAt(tree, 0), ElementsAre(0, 1));
  const std::vector<int>& children = tree.node(0).children;
  EXPECT_THAT(DraftersAt(tree, children[0]), ElementsAre(1));
  EXPECT_THAT(DraftersAt(tree, children[1]), ElementsAre(0, 2))
      << "the second draw keeps its place though others failed";
  const DraftTree none = GrowTogether(
      policy, 3, [](const GrowingTree&, int, int) { return Distribution(); });
  EXPECT_EQ(none.Drafted(), 0);
}

// A drafter whose later tokens are likely only where it had the earlier ones.
TEST(Joint, AStreakGoesOnWhereTheDrafterHasTheTokenToo) {
  const JointAcceptance acceptance({{{0.4}, {0.8}, {0.9}}, {{0.5}}},
                                   {0.3, 0.2, 0.3, 0.2}, {}, {});
  EXPECT_DOUBLE_EQ(acceptance.Agrees(0, 1), 0.4);
  JointPlace root = JointRoot(2);
  EXPECT_DOUBLE_EQ(NextGain(root, 0, acceptance), 0.4);
  JointPlace of_other = DrawAt(root, 1, acceptance);
  EXPECT_DOUBLE_EQ(of_other.reach, 0.5);
  EXPECT_DOUBLE_EQ(NextGain(of_other, 0, acceptance), 0.4 * 0.8 + 0.6 * 0.4);
  const JointPlace after = DrawAt(of_other, 0, acceptance);
  EXPECT_DOUBLE_EQ(NextGain(after, 0, acceptance), 0.4 * 0.9 + 0.6 * 0.8);
  // The second to draw gains what the first one missed, and has another token.
  EXPECT_DOUBLE_EQ(NextGain(root, 0, acceptance), 0.2);
  JointPlace of_first = DrawAt(root, 0, acceptance);
  EXPECT_DOUBLE_EQ(NextGain(of_first, 0, acceptance), 0.8);
  JointPlace root_again = JointRoot(2);
  (void)DrawAt(root_again, 0, acceptance);
  const JointPlace late = DrawAt(root_again, 1, acceptance);
  EXPECT_DOUBLE_EQ(NextGain(late, 0, acceptance), 0.4);
}

TEST(Joint, IsTheFastestShapeOfItsNumbers) {
  const auto plan = PlanShape(*ParseYaml(
      Section("joint {nodes: 6, target_ms: {1: 10, 7: 10.6}, draft_ms: [0.1, "
              "0.1], alone: [[[0.6, 0.1], [0.6]], [[0.5, 0.2], [0.4]]], "
              "together: [0.2, 0.3, 0.2, 0.3]}"),
      "policy"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->count, 2);
  EXPECT_THAT(plan->drafters, testing::Contains(0));
  EXPECT_THAT(plan->drafters, testing::Contains(1));
  EXPECT_EQ(plan->reach.front(), 1);
  EXPECT_EQ(plan->reach.size(), plan->shape.parents.size());
  EXPECT_GT(plan->choice->speedup, 1.5);
  // A drafter that costs too much is not asked.
  const auto dear = PlanShape(*ParseYaml(
      Section("joint {nodes: 6, target_ms: {1: 10, 7: 10.6}, draft_ms: [0.1, "
              "9], alone: [[[0.6, 0.1], [0.6]], [[0.5, 0.2], [0.4]]], "
              "together: [0.2, 0.3, 0.2, 0.3]}"),
      "policy"));
  ASSERT_TRUE(dear.ok()) << dear.status();
  EXPECT_THAT(std::vector(dear->drafters.begin() + 1, dear->drafters.end()),
              Each(0));
}

}  // namespace
}  // namespace banyan
