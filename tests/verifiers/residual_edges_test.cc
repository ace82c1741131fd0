// What is emitted when the residual is all of p, or nothing.
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/support/decoding.h"
#include "tests/support/tally.h"
#include "tests/support/tree_text.h"
#include "tests/verifiers/judge.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

const double kAlmostOne = std::nextafter(1.0, 0.0);

Verdict Judge(const std::string& verifier, const DraftTree& tree,
              const Distribution& p, const std::vector<double>& tape) {
  const auto size = static_cast<std::size_t>(tree.size());
  return Judge(verifier, tree, std::vector<Distribution>(size, p), tape);
}

// Replaces every proposal of a tree.
DraftTree JudgedBy(const std::string& text, const Distribution& q) {
  std::vector<Node> nodes = ParseNodes(text, {.vocab_size = q.vocab_size()});
  for (Node& node : nodes)
    for (DrawList& list : node.lists) {
      list.proposal = {q};
      for (Draw& draw : list.draws) draw.proposal = q;
    }
  return DraftTree(nodes);
}

// Field pitfall 5.
TEST(EveryLosslessVerifier, EmitsTheTargetsLawWhenSupportsAreDisjoint) {
  const auto p = Distribution::Dense({0.25, 0.75, 0, 0});
  const auto sparse = Distribution::Sparse(4, {0, 1}, {0.25, 0.75});
  const auto q = Distribution::Dense({0, 0, 0.5, 0.5});
  Tally tally;
  for (const std::string& verifier : LosslessVerifiers(1)) {
    const VerifierTraits traits = VerifierOf(verifier)->traits();
    for (const char* text : {"9(2)", "9(2(3))", "9(2 3)", "9(2 3(2) 2)"}) {
      const DraftTree tree = JudgedBy(text, q);
      if (!CheckLawful(verifier, traits, tree).ok()) {
        tally.Count(CaseResult::kUnlawful);
        continue;
      }
      for (const Distribution& row : {p, sparse}) {
        for (double u : {0., 0.2, 0.25, 0.5, kAlmostOne}) {
          const Verdict verdict =
              Judge(verifier, tree, row, std::vector<double>(9, u));
          EXPECT_TRUE(verdict.path.empty()) << verifier << ", " << text;
          EXPECT_EQ(verdict.next, u < 0.25 ? 0 : 1)
              << verifier << ", " << text << ", u " << u;
        }
      }
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 34);
}

// p and q are equal but for the last bit of the drawn token's mass: the coin
// refuses it, and nothing is left to emit instead.
TEST(RoundVerifiers, AcceptWhenNothingIsLeft) {
  const auto p = Distribution::Dense({0.5, 0.5});
  const DraftTree tree =
      JudgedBy("9(0)", Distribution::Dense({std::nextafter(0.5, 1.0), 0.5}));
  for (const char* verifier :
       {"leviathan", "multi_round", "multi_round {order: shuffled}",
        "without_replacement"})
    EXPECT_EQ(Judge(verifier, tree, p, {kAlmostOne, 0.5}).path,
              std::vector<int>{1})
        << verifier;
}

// A dropped draw whose distribution is all of p leaves nothing either, but the
// draw is no token to accept: the next draw is judged.
TEST(RoundVerifiers, GoOnAfterADroppedDrawThatLeavesNothing) {
  const auto p = Distribution::Dense({1, 0});
  const DraftTree tree = JudgedBy("0(~1 0)", p);
  for (const char* verifier : {"multi_round", "without_replacement"})
    EXPECT_EQ(Judge(verifier, tree, p, {kAlmostOne, 0.5}).path,
              std::vector<int>{1})
        << verifier;
}

// The first number chooses which draw is judged first, the second accepts it.
TEST(MultiRound, ShuffledJudgesFirstWhatTheOrderPutsFirst) {
  const auto p = Distribution::Dense({0, 0.5, 0.5});
  const DraftTree tree = JudgedBy("0(1 2)", p);
  const std::string verifier = "multi_round {order: shuffled}";
  EXPECT_EQ(Judge(verifier, tree, p, {0.1, 0, 0.5}).path, std::vector<int>{1});
  EXPECT_EQ(Judge(verifier, tree, p, {0.9, 0, 0.5}).path, std::vector<int>{2});
}

// With rho the smallest of all, 1, the ratio is 1 and no coin refuses it.
TEST(KSeq, AcceptsTheFirstOfSeveralDrawsFromTheTargetsOwnLaw) {
  const auto p = Distribution::Dense({0, 0.5, 0.5});
  EXPECT_EQ(Judge("k_seq", JudgedBy("0(1 2)", p), p, {kAlmostOne, 0.5}).path,
            std::vector<int>{1});
}

TEST(OtherRatioVerifiers, EmitATokenOfTheTargetWhenNothingIsLeft) {
  const auto p = Distribution::Dense({0.5, 0.5, 0});
  for (const char* text : {"9(0)", "9(0(0))", "9(1(0))"}) {
    const DraftTree tree =
        JudgedBy(text, Distribution::Dense({std::nextafter(0.5, 1.0), 0.5, 0}));
    for (const char* verifier : {"k_seq", "block", "traversal"}) {
      for (double u : {0., 0.5, kAlmostOne}) {
        const Verdict verdict = Judge(verifier, tree, p, {kAlmostOne, u, u, u});
        EXPECT_GT(p.Mass(verdict.next), 0) << verifier << ", " << text;
      }
    }
  }
}

TEST(EveryLosslessVerifier, EmitsTheTargetsLawWhenAllDrawsWereDropped) {
  const auto p = Distribution::Dense({0.25, 0.75, 0});
  Tally tally;
  for (const std::string& verifier : LosslessVerifiers(1)) {
    const VerifierTraits traits = VerifierOf(verifier)->traits();
    for (const char* text : {"9(~2)", "9(~2 ~1)"}) {
      const DraftTree tree =
          JudgedBy(text, Distribution::Dense({0, 0.5, 0.5}).KeepAtLeast(0.9));
      if (!CheckLawful(verifier, traits, tree).ok()) {
        tally.Count(CaseResult::kUnlawful);
        continue;
      }
      for (double u : {0., 0.25, kAlmostOne}) {
        const Verdict verdict =
            Judge(verifier, tree, p, std::vector<double>(9, u));
        EXPECT_TRUE(verdict.path.empty()) << verifier;
        EXPECT_EQ(verdict.next, u < 0.25 ? 0 : 1) << verifier << ", u " << u;
      }
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 17);
}

// A restricted proposal takes away only what could have been kept.
TEST(RoundVerifiers, ADroppedDrawTakesAwayTheKeptMassesOnly) {
  const auto p = Distribution::Dense({0.5, 0.25, 0.25});
  std::vector<Node> nodes = ParseNodes("9(~2)", {.vocab_size = 3});
  nodes[0].lists[0].draws[0].proposal =
      Distribution::Dense({0.25, 0.5, 0.25}).KeepAtLeast(0.5);
  const DraftTree tree(nodes);
  // pos(p - q') = (0.5, 0, 0.25), normalised (2/3, 0, 1/3).
  for (const char* verifier :
       {"leviathan", "multi_round", "without_replacement", "k_seq", "block",
        "traversal"}) {
    EXPECT_EQ(Judge(verifier, tree, p, {0.66}).next, 0) << verifier;
    EXPECT_EQ(Judge(verifier, tree, p, {0.67}).next, 2) << verifier;
  }
}

}  // namespace
}  // namespace banyan
