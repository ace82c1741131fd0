#include "tree/derive.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/must_read.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

TEST(ToBatch, FollowsTheNodesOfTheTree) {
  const TokenBatch batch = ToBatch(ParseTree("9(1(2 3(4)) 5 *6)"), 7);
  EXPECT_EQ(batch.tokens, (std::vector<TokenId>{9, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batch.parents,
            (std::vector<int>{TokenBatch::kCommitted, 0, 1, 1, 3, 0, 0}));
  EXPECT_EQ(batch.positions, (std::vector<int>{7, 8, 9, 9, 10, 8, 8}));
}

TEST(ToBatch, OfABareRootIsOneRow) {
  const TokenBatch batch = ToBatch(ParseTree("9"), 0);
  EXPECT_EQ(batch.size(), 1);
  EXPECT_EQ(batch.positions, (std::vector<int>{0}));
  EXPECT_EQ(batch.parents, (std::vector<int>{TokenBatch::kCommitted}));
}

// Any parent before its child: deep, bushy and in between.
std::vector<int> RandomParents(int rows, std::mt19937_64& bits) {
  std::vector<int> parents = {TokenBatch::kCommitted};
  const std::uint64_t reach = 1 + bits() % 8;
  for (int row = 1; row < rows; ++row) {
    const auto back = static_cast<int>(bits() % reach);
    parents.push_back(bits() % 40 == 0 ? TokenBatch::kCommitted
                                       : std::max(0, row - 1 - back));
  }
  return parents;
}

void ExpectMask(const std::vector<int>& parents) {
  const AncestorMask mask = ToMask(parents);
  const int rows = static_cast<int>(parents.size());
  ASSERT_EQ(mask.rows, rows);
  ASSERT_EQ(mask.words_per_row, (rows + 63) / 64);
  ASSERT_EQ(mask.words.size(),
            static_cast<std::size_t>(rows * mask.words_per_row));
  for (int row = 0; row < rows; ++row) {
    std::vector<bool> sees(static_cast<std::size_t>(rows), false);
    for (int i = row; i >= 0; i = parents[static_cast<std::size_t>(i)])
      sees[static_cast<std::size_t>(i)] = true;
    for (int to = 0; to < mask.words_per_row * 64; ++to) {
      const auto word =
          static_cast<std::size_t>(row * mask.words_per_row + to / 64);
      const bool bit = (mask.words[word] >> (to % 64) & 1) != 0;
      const bool expected = to < rows && sees[static_cast<std::size_t>(to)];
      ASSERT_EQ(bit, expected)
          << "row " << row << " of " << rows << " to " << to;
      if (to < rows) {
        ASSERT_EQ(mask.Attends(row, to), expected);
      }
    }
  }
}

TEST(ToMask, ARowAttendsToItselfAndItsAncestorsAndNothingElse) {
  std::mt19937_64 bits(1);
  for (int rows = 1; rows <= 20; ++rows) ExpectMask(RandomParents(rows, bits));
  for (int rows : {63, 64, 65, 127, 128, 129, 200}) {
    for (int round = 0; round < 5; ++round)
      ExpectMask(RandomParents(rows, bits));
    std::vector<int> chain;
    for (int row = 0; row < rows; ++row) chain.push_back(row - 1);
    ExpectMask(chain);
  }
}

TEST(ToMask, OfNoRowsIsEmpty) {
  const AncestorMask mask = ToMask({});
  EXPECT_EQ(mask.rows, 0);
  EXPECT_TRUE(mask.words.empty());
}

TEST(Paths, LeadFromTheRootsChildToTheNode) {
  const DraftTree tree = ParseTree("9(1(2 3(4)) 5)");
  EXPECT_EQ(PathTo(tree, 0), (std::vector<int>{}));
  EXPECT_EQ(PathTo(tree, 4), (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(TokensTo(tree, 0), (std::vector<TokenId>{}));
  EXPECT_EQ(TokensTo(tree, 4), (std::vector<TokenId>{1, 3, 4}));
  EXPECT_EQ(TokensTo(tree, 5), (std::vector<TokenId>{5}));
}

TEST(Paths, OfATrunkTreeAreTheSame) {
  const TrunkTree growing = ParseGrowth("9(1(2 3(4)) 5)");
  // 0: 9, 1: 1, 2: 5, 3: 2, 4: 3, 5: 4.
  EXPECT_EQ(TokensTo(growing, 0), (std::vector<TokenId>{}));
  EXPECT_EQ(TokensTo(growing, 5), (std::vector<TokenId>{1, 3, 4}));
}

// A tree of several trunks, with probes.
DraftTree RandomTree(std::mt19937_64& bits, int vocab_size) {
  std::vector<TrunkTree> trunks;
  const Distribution uniform = Distribution::Dense(std::vector<double>(
      static_cast<std::size_t>(vocab_size), 1. / vocab_size));
  for (int trunk = 0; trunk < 2; ++trunk) {
    TrunkTree tree(1, trunk, DrawKind::kIndependent);
    for (int node = 0; node < tree.size() && tree.size() < 12; ++node) {
      const auto token = [&bits, vocab_size] {
        return static_cast<TokenId>(bits() %
                                    static_cast<std::uint64_t>(vocab_size));
      };
      if (bits() % 4 == 0) tree.AddProbe(node, token());
      if (tree.node(node).probe()) continue;
      tree.SetProposal(node, {uniform});
      for (auto draws = bits() % 4; draws > 0; --draws)
        tree.AddDraw(node, token(), uniform);
    }
    trunks.push_back(std::move(tree));
  }
  return Merge(trunks);
}

// Field pitfall 12: a mask or position error. The toy's distribution depends on
// the whole text, so a row that sees one token too many or too few shows.
TEST(ToBatch, ScoresEveryNodeAsAChainOfItsPathWould) {
  std::mt19937_64 bits(2);
  for (int round = 0; round < 50; ++round) {
    const std::shared_ptr<TableModel> model =
        Toy({.vocab_size = 4, .seed = round});
    const std::vector<TokenId> prefix = {model->begin(), 2, 0, 3};
    const DraftTree tree = RandomTree(bits, 4);
    const std::unique_ptr<Session> session = model->NewSession();
    ASSERT_TRUE(session->Prefill(prefix).ok());
    const TokenBatch batch = ToBatch(tree, session->length());
    const auto scores = ScoreOne(*model, *session, batch);
    ASSERT_TRUE(scores.ok()) << scores.status() << " for " << ToText(tree);
    for (int node = 0; node < tree.size(); ++node) {
      std::vector<TokenId> text = prefix;
      text.push_back(tree.node(0).token);
      const std::vector<TokenId> path = TokensTo(tree, node);
      text.insert(text.end(), path.begin(), path.end());
      EXPECT_EQ(MustRead(**scores, node), LogitsAfter(*model, text))
          << "node " << node << " of " << ToText(tree);
    }
  }
}

}  // namespace
}  // namespace banyan
