// The suffix tree against a scan of its texts.
#include "drafters/text/suffix/suffix_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/text/passages.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

using testing::ElementsAre;

// The place of a passage; its node is -1 if it stands nowhere.
SuffixTree::Place PlaceOf(const SuffixTree& tree,
                          const std::vector<TokenId>& passage) {
  SuffixTree::Place place;
  for (TokenId token : passage)
    if (!tree.Step(token, place)) return {-1, 0};
  return place;
}

// What may follow a place, in the tree's order.
std::vector<TokenId> Following(const SuffixTree& tree,
                               SuffixTree::Place place) {
  if (place.length < tree.length(place.node))
    return {tree.token(place.node, place.length)};
  std::vector<int> children;
  tree.Children(place.node, 1, children);
  std::vector<TokenId> tokens;
  for (int child : children) tokens.push_back(tree.token(child, 0));
  return tokens;
}

void Read(const std::vector<TokenId>& text, SuffixTree& tree) {
  for (TokenId token : text) tree.Append(token);
  tree.EndText();
}

// Every passage below this one.
void ExpectPassages(const SuffixTree& tree, const Texts& texts, int vocab_size,
                    std::vector<TokenId>& passage, int& compared) {
  const SuffixTree::Place place = PlaceOf(tree, passage);
  if (!passage.empty()) {
    const int count = CountOf(passage, texts);
    ASSERT_EQ(place.node < 0 ? 0 : tree.count(place.node), count);
    ++compared;
    if (count == 0) return;
  }
  ASSERT_EQ(Following(tree, place),
            static_cast<int>(passage.size()) < tree.depth()
                ? FollowersOf(passage, texts, vocab_size)
                : std::vector<TokenId>());
  if (static_cast<int>(passage.size()) == tree.depth()) return;
  for (TokenId token = 0; token < vocab_size; ++token) {
    passage.push_back(token);
    ExpectPassages(tree, texts, vocab_size, passage, compared);
    passage.pop_back();
  }
}

TEST(SuffixTree, CountsWhatAScanOfItsTextsCounts) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int vocab_size = dice.Between(2, 4);
    SuffixTree tree(dice.Between(1, 6));
    Texts texts = {{}};
    for (int step = 0; step < 60; ++step) {
      const int what = dice.Below(20);
      if (what == 0) {
        tree.EndText();
        texts.emplace_back();
      } else if (what == 1 && texts.size() > 1) {
        tree.DropOldest();
        texts.erase(texts.begin());
      } else {
        // At times what stands there already.
        const TokenId token =
            dice.OneIn(2) || texts.front().empty()
                ? dice.Below(vocab_size)
                : texts.front()[texts.back().size() % texts.front().size()];
        tree.Append(token);
        texts.back().push_back(token);
      }
      if (step % 7 != 0) continue;
      std::vector<TokenId> passage;
      ExpectPassages(tree, texts, vocab_size, passage, compared);
      ASSERT_FALSE(HasFatalFailure()) << "step " << step;
      for (std::size_t i = 0; i < tree.ends().size(); ++i) {
        const std::vector<TokenId> end(
            texts.back().end() - static_cast<std::ptrdiff_t>(i) - 1,
            texts.back().end());
        const SuffixTree::Place place = PlaceOf(tree, end);
        ASSERT_EQ(place.node, tree.ends()[i]);
        ASSERT_EQ(place.length, tree.length(place.node));
      }
      ASSERT_EQ(tree.ends().size(),
                std::min<std::size_t>(texts.back().size(),
                                      static_cast<std::size_t>(tree.depth())));
    }
  }
  EXPECT_GT(compared, 50'000);
}

// To the number of nodes: nothing is left of a text that was taken back.
TEST(SuffixTree, IsWithoutATextAsIfItHadNeverHeardOfIt) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int depth = dice.Between(1, 8);
    SuffixTree tree(depth);
    std::deque<std::vector<TokenId>> texts;
    for (int step = 0; step < 12; ++step) {
      std::vector<TokenId> text;
      for (int i = dice.Below(30); i > 0; --i) text.push_back(dice.Below(3));
      // Or all of an earlier one.
      if (dice.OneIn(4) && !texts.empty()) text = texts.back();
      texts.push_back(text);
      Read(text, tree);
      while (texts.size() > 3) {
        texts.pop_front();
        tree.DropOldest();
      }
      SuffixTree anew(depth);
      for (const std::vector<TokenId>& kept : texts) Read(kept, anew);
      ASSERT_EQ(tree.nodes(), anew.nodes()) << "step " << step;
      ASSERT_EQ(tree.texts(), anew.texts());
      std::size_t tokens = 0;
      for (const std::vector<TokenId>& kept : texts) tokens += kept.size();
      ASSERT_LE(anew.nodes() - 1, 2 * static_cast<int>(tokens));
    }
    while (tree.texts() > 0) tree.DropOldest();
    EXPECT_EQ(tree.nodes(), 1);
  }
}

TEST(SuffixTree, RanksByCountAndThenByTheLatestOccurrence) {
  SuffixTree tree(3);
  Read({7, 1, 7, 2, 7, 3, 7, 2, 9, 7, 1}, tree);
  EXPECT_THAT(Following(tree, PlaceOf(tree, {7})), ElementsAre(1, 2, 3));
  Read({7, 3, 5, 7, 3}, tree);
  EXPECT_THAT(Following(tree, PlaceOf(tree, {7})), ElementsAre(3, 1, 2));
  std::vector<int> children;
  tree.Children(PlaceOf(tree, {7}).node, 3, children);
  ASSERT_EQ(children.size(), 1);
  EXPECT_EQ(tree.count(children.front()), 3);
  tree.DropOldest();
  EXPECT_THAT(Following(tree, PlaceOf(tree, {7})), ElementsAre(3));
}

// A copy is another tree.
TEST(SuffixTree, CopiesGoTheirOwnWays) {
  SuffixTree tree(4);
  for (TokenId token : {1, 2, 1, 2}) tree.Append(token);
  SuffixTree copy = tree;
  copy.Append(1);
  tree.Append(3);
  EXPECT_THAT(Following(tree, PlaceOf(tree, {1, 2})), ElementsAre(3, 1));
  EXPECT_THAT(Following(copy, PlaceOf(copy, {1, 2})), ElementsAre(1));
  EXPECT_EQ(copy.count(PlaceOf(copy, {1}).node), 3);
  EXPECT_EQ(tree.count(PlaceOf(tree, {1}).node), 2);
}

// What one step of many costs must not grow with how many siblings have one
// count: here 200 thousand of them, each of which is counted once more and
// taken back once. It takes a second; a walk past them would take an hour.
TEST(SuffixTree, PassesThoseOfItsCountInOneStep) {
  constexpr int kTokens = 200'000;
  SuffixTree tree(2);
  for (int text = 0; text < 2; ++text) {
    for (TokenId token = 0; token < kTokens; ++token) tree.Append(token);
    tree.EndText();
  }
  EXPECT_EQ(tree.count(PlaceOf(tree, {77}).node), 2);
  tree.DropOldest();
  EXPECT_EQ(tree.count(PlaceOf(tree, {77}).node), 1);
}

}  // namespace
}  // namespace banyan
