// The tries of branches and what is retrieved of them, against maps that are
// looked through for everything.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/plan_drafter.h"
#include "drafters/text/trie/trie.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/drafters/text/naive_trie.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

using testing::ElementsAre;

constexpr TokenId kFirst = 9;
constexpr BranchTrie::Weights kMix = {.prompt = 1 - 1e-4, .output = 1e-4};

std::vector<TokenId> Children(const BranchTrie& trie, int node) {
  std::vector<TokenId> tokens;
  int previous = BranchTrie::kNone;
  for (int child = trie.node(node).first_child; child != BranchTrie::kNone;
       child = trie.node(child).next) {
    EXPECT_EQ(trie.node(child).previous, previous);
    previous = child;
    tokens.push_back(trie.node(child).token);
  }
  EXPECT_EQ(trie.node(node).last_child, previous);
  return tokens;
}

void ExpectSame(const BranchTrie& trie, const NaiveTrie& naive,
                bool by_output) {
  int nodes = 0;
  for (const auto& [path, counts] : naive.nodes) {
    const absl::Span<const TokenId> rest = absl::MakeSpan(path).subspan(1);
    if (by_output && counts.output == 0) {
      EXPECT_EQ(trie.Find(rest), rest.empty() ? 0 : BranchTrie::kNone);
      continue;
    }
    const int node = trie.Find(rest);
    ASSERT_NE(node, BranchTrie::kNone);
    ++nodes;
    EXPECT_EQ(trie.node(node).prompt, by_output ? 0 : counts.prompt);
    EXPECT_EQ(trie.node(node).output, counts.output);
    std::vector<TokenId> children;
    for (const Path& child : naive.Children(path, by_output))
      children.push_back(child.back());
    EXPECT_EQ(Children(trie, node), children);
  }
  EXPECT_EQ(trie.size() + 1, std::max(nodes, 1));
}

Path AnyBranch(Dice& dice) {
  Path branch = {kFirst};
  // Few tokens, of which the low ones are frequent: ties and leaps.
  for (int i = dice.Between(1, 5); i > 0; --i)
    branch.push_back(dice.Below(1 + dice.Below(6)));
  return branch;
}

TEST(BranchTrie, CountsAndRanksAsAMapDoes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    BranchTrie trie(kMix);
    NaiveTrie naive;
    for (int put = 0; put < 60; ++put) {
      const Path branch = AnyBranch(dice);
      const bool prompt = dice.OneIn(2);
      trie.Put(absl::MakeSpan(branch).subspan(1),
               prompt ? Source::kPrompt : Source::kOutput);
      naive.Put(branch, prompt);
      if (put % 7 == 0) ExpectSame(trie, naive, false);
    }
    ExpectSame(trie, naive, false);
  }
}

TEST(BranchTrie, PruningHalvesCountsAndDropsWhatWasCountedOnceOrLess) {
  int dropped = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    BranchTrie trie({});
    NaiveTrie naive;
    for (int put = 0; put < 200; ++put) {
      const Path branch = AnyBranch(dice);
      trie.Put(absl::MakeSpan(branch).subspan(1), Source::kOutput);
      naive.Put(branch, false);
      if (dice.OneIn(20)) {
        const int gone = trie.Prune();
        EXPECT_EQ(gone, naive.Prune());
        dropped += gone;
      }
      if (put % 7 == 0) ExpectSame(trie, naive, true);
    }
    // A prompt's counts come on top of halves.
    BranchTrie mixed = trie.Weighed(kMix);
    ExpectSame(mixed, naive, false);
    for (int put = 0; put < 50; ++put) {
      const Path branch = AnyBranch(dice);
      mixed.Put(absl::MakeSpan(branch).subspan(1), Source::kPrompt);
      naive.Put(branch, true);
    }
    ExpectSame(mixed, naive, false);
  }
  EXPECT_GT(dropped, 1000);
}

TEST(BranchTrie, PruningIsByTheCountsOfTheExample) {
  BranchTrie trie({});
  for (int i = 0; i < 4; ++i) trie.Put({1, 2}, Source::kOutput);
  for (int i = 0; i < 3; ++i) trie.Put({1, 3}, Source::kOutput);
  for (int i = 0; i < 2; ++i) trie.Put({4, 5}, Source::kOutput);
  trie.Put({6, 7, 8}, Source::kOutput);
  EXPECT_EQ(trie.Prune(), 3) << "6, 7 and 8";
  EXPECT_EQ(trie.node(trie.Find({1})).output, 3.5);
  EXPECT_EQ(trie.node(trie.Find({1, 3})).output, 1.5);
  EXPECT_EQ(trie.node(trie.Find({4})).output, 1);
  EXPECT_THAT(Children(trie, 0), ElementsAre(1, 4));
  EXPECT_EQ(trie.Prune(), 2) << "4 and 5";
  EXPECT_EQ(trie.size(), 3);
}

// The nodes of a plan below `path`, with their scores.
std::map<Path, double> NodesOf(const DraftPlan& plan, const Path& path) {
  std::map<Path, double> nodes;
  std::vector<Path> paths = {path};
  for (int node = 1; node < plan.size(); ++node) {
    paths.push_back(paths[static_cast<std::size_t>(plan.node(node).parent)]);
    paths.back().push_back(plan.node(node).token);
    nodes[paths.back()] = plan.node(node).score;
  }
  return nodes;
}

TEST(Retrieve, FindsTheBestByOutputsAndThenByTheMix) {
  int whole = 0, partial = 0, empty = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    BranchStore store(5, kMix);
    NaiveTrie naive;
    const int share = dice.Between(1, 3);  // of prompts: 1, 1/2, 1/3
    for (int put = dice.Between(1, 40); put > 0; --put) {
      const Path branch = AnyBranch(dice);
      const bool prompt = dice.OneIn(share);
      store.Put(branch, 0, prompt ? Source::kPrompt : Source::kOutput);
      naive.Put(branch, prompt);
    }
    Path path = {kFirst};
    for (int i = dice.Below(3); i > 0; --i) path.push_back(dice.Below(4));
    RetrievalSize size = {.depth = dice.Between(1, 4),
                          .nodes = dice.Between(1, 25)};
    size.output_nodes = dice.Between(0, size.nodes);
    const DraftPlan plan =
        Retrieve(*store.Of(kFirst), absl::MakeSpan(path).subspan(1), size);
    std::set<Path> chosen;
    const auto depth = static_cast<std::size_t>(size.depth);
    const auto nodes = static_cast<std::size_t>(size.nodes);
    naive.Choose(path, true, depth, static_cast<std::size_t>(size.output_nodes),
                 chosen);
    naive.Choose(path, false, depth, nodes, chosen);
    std::map<Path, double> expected;
    for (const Path& node : chosen)
      expected[node] =
          naive.Mix(node) / naive.Mix({node.begin(), node.end() - 1});
    EXPECT_EQ(NodesOf(plan, path), expected);
    ++(chosen.empty() ? empty : chosen.size() < nodes ? whole : partial);
  }
  EXPECT_GT(whole, 50);
  EXPECT_GT(partial, 50);
  EXPECT_GT(empty, 20);
}

TEST(BranchStore, HasTheBranchesOfEachFirstToken) {
  BranchStore store(2, kMix);
  const std::vector<TokenId> text = {1, 2, 1, 2, 3};
  for (std::size_t at = 0; at < text.size(); ++at)
    store.Put(text, at, Source::kOutput);
  EXPECT_EQ(store.Of(3), nullptr) << "nothing comes after it";
  EXPECT_EQ(store.Of(4), nullptr);
  EXPECT_EQ(store.Of(1)->outputs().size(), 3) << "2 and 2 1 and 2 3";
  EXPECT_EQ(store.Of(2)->outputs().size(), 3) << "1 and 1 2 and 3";
  EXPECT_EQ(store.output_nodes(), 6);
  store.Put(text, 0, Source::kPrompt);
  EXPECT_EQ(store.output_nodes(), 6);
  EXPECT_EQ(store.Of(1)->mixed().node(1).prompt, 1);
  EXPECT_EQ(store.Of(1)->outputs().node(1).prompt, 0);
}

TEST(BranchStore, CopiesShareATrieUntilOneOfThemPutsIntoIt) {
  BranchStore store(3, kMix);
  store.Put({1, 2}, 0, Source::kOutput);
  store.Put({2, 3}, 0, Source::kOutput);
  BranchStore copy = store;
  EXPECT_EQ(&copy.Of(1)->outputs(), &store.Of(1)->outputs());
  copy.Put({1, 5}, 0, Source::kOutput);
  copy.Put({2, 5}, 0, Source::kPrompt);
  copy.Put({6, 7}, 0, Source::kPrompt);
  EXPECT_EQ(store.Of(1)->outputs().size(), 1);
  EXPECT_EQ(copy.Of(1)->outputs().size(), 2);
  EXPECT_EQ(store.Of(2)->mixed().size(), 1);
  EXPECT_EQ(copy.Of(2)->mixed().size(), 2);
  EXPECT_EQ(&copy.Of(2)->outputs(), &store.Of(2)->outputs());
  EXPECT_EQ(store.Of(6), nullptr);
  EXPECT_EQ(store.output_nodes(), 2);
  EXPECT_EQ(copy.output_nodes(), 3);
}

TEST(BranchStore, StaysWithinItsLimits) {
  int of_one = 0, of_all = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    BranchStore store(4, kMix);
    std::map<TokenId, NaiveTrie> naive;
    const StoreLimits limits = {.output_nodes = dice.Between(2, 40),
                                .nodes = dice.Between(40, 120)};
    for (int round = 0; round < 12; ++round) {
      Path output;
      for (int i = dice.Below(30); i > 0; --i)
        output.push_back(dice.Below(1 + dice.Below(7)));
      int gone = 0;
      const auto prune = [&](TokenId first) {
        gone += naive[first].Prune();
        if (naive[first].size() == 0) naive.erase(first);
      };
      for (std::size_t at = 0; at + 1 < output.size(); ++at)
        naive[output[at]].Put(
            {output.begin() + at,
             output.begin() + std::min(at + 5, output.size())},
            false);
      for (TokenId first : output)
        while (naive.count(first) > 0 &&
               naive[first].size() > limits.output_nodes) {
          prune(first);
          ++of_one;
        }
      const auto total = [&] {
        int nodes = 0;
        for (const auto& [first, trie] : naive) nodes += trie.size();
        return nodes;
      };
      while (total() > limits.nodes) {
        for (TokenId first = 0; first < 7; ++first)
          if (naive.count(first) > 0) prune(first);
        ++of_all;
      }
      EXPECT_EQ(store.TakeOver(output, limits), gone);
      EXPECT_EQ(store.output_nodes(), total());
      for (TokenId first = 0; first < 7; ++first) {
        ASSERT_EQ(store.Of(first) != nullptr, naive.count(first) > 0);
        if (naive.count(first) > 0)
          ExpectSame(store.Of(first)->outputs(), naive[first], true);
      }
    }
  }
  EXPECT_GT(of_one, 50);
  EXPECT_GT(of_all, 20);
}

}  // namespace
}  // namespace banyan
