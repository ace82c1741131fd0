#include "tree/pass_rows.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using Rows = std::vector<int>;

TEST(MergedRows, AreTheNodes) {
  const DraftTree tree = ParseTree("9(1(2 3(4)) 5 *6)");
  const PassRows rows = MergedRows(tree, 7);
  EXPECT_TRUE(rows.merged());
  EXPECT_EQ(rows.batch.tokens, ToBatch(tree, 7).tokens);
  EXPECT_EQ(rows.batch.parents, ToBatch(tree, 7).parents);
  EXPECT_EQ(rows.batch.positions, ToBatch(tree, 7).positions);
  EXPECT_EQ(rows.ChainOf(Rows{0, 1, 3}), (Rows{0, 1, 3}));
}

// Leaves are 2, 4, 5 and the probe 6.
TEST(UnmergedRows, AreAChainForEveryLeaf) {
  const PassRows rows = UnmergedRows(ParseTree("9(1(2 3(4)) 5 *6)"), 7);
  EXPECT_FALSE(rows.merged());
  EXPECT_EQ(rows.batch.tokens,
            (std::vector<TokenId>{9, 1, 2, 9, 1, 3, 4, 9, 5, 9, 6}));
  EXPECT_EQ(rows.batch.positions, (Rows{7, 8, 9, 7, 8, 9, 10, 7, 8, 7, 8}));
  EXPECT_EQ(rows.batch.parents, (Rows{-1, 0, 1, -1, 3, 4, 5, -1, 7, -1, 9}));
  EXPECT_EQ(rows.node, (Rows{0, 1, 2, 0, 1, 3, 4, 0, 5, 0, 6}));
  EXPECT_EQ(rows.row, (Rows{0, 1, 2, 5, 6, 8, 10}));
  EXPECT_TRUE(rows.vectors.rows.empty());
}

// The rows of one chain, though 9 and 1 are read in the first.
TEST(UnmergedRows, KeepThePathWithinTheChainOfItsEnd) {
  const PassRows rows = UnmergedRows(ParseTree("9(1(2 3(4)) 5 *6)"), 7);
  EXPECT_EQ(rows.ChainOf(Rows{0}), (Rows{0}));
  EXPECT_EQ(rows.ChainOf(Rows{0, 1}), (Rows{0, 1}));
  EXPECT_EQ(rows.ChainOf(Rows{0, 1, 3}), (Rows{3, 4, 5}));
  EXPECT_EQ(rows.ChainOf(Rows{0, 1, 3, 4}), (Rows{3, 4, 5, 6}));
  EXPECT_EQ(rows.ChainOf(Rows{0, 5}), (Rows{7, 8}));
}

TEST(UnmergedRows, OfAChainAreItsNodes) {
  for (const char* text : {"9", "9(1)", "9(1(2(3)))"}) {
    const DraftTree tree = ParseTree(text);
    EXPECT_EQ(UnmergedRows(tree, 2).batch.parents, ToBatch(tree, 2).parents);
    EXPECT_EQ(UnmergedRows(tree, 2).batch.tokens, ToBatch(tree, 2).tokens);
  }
}

// A probe with two probes below it stands in two chains.
TEST(UnmergedRows, StartEachCopyOfAProbeFromItsVector) {
  const auto vector =
      std::make_shared<const std::vector<float>>(std::vector<float>{3, 0.5F});
  std::vector<TrunkTree> trunks;
  trunks.emplace_back(9, 0, DrawKind::kDeterministic);
  const int probe = trunks[0].AddProbe(0, 1, vector);
  trunks[0].AddProbe(probe, 2);
  trunks[0].AddProbe(probe, 3, vector);
  const PassRows rows = UnmergedRows(Merge(trunks), 0);
  EXPECT_EQ(rows.batch.tokens, (std::vector<TokenId>{9, 1, 2, 9, 1, 3}));
  EXPECT_EQ(rows.vectors.rows, (Rows{1, 4, 5}));
  EXPECT_EQ(rows.vectors.values,
            (std::vector<float>{3, 0.5F, 3, 0.5F, 3, 0.5F}));
}

}  // namespace
}  // namespace banyan
