// Rejection sampling, judged by hand: its ratio, and whose the next token is.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/support/tree_text.h"
#include "tests/verifiers/judge.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using Path = std::vector<int>;

const double kAlmostOne = std::nextafter(1.0, 0.0);

// p / q is 1/4, 1 and 4, so M is 4.
const Distribution kP = Distribution::Dense({0.125, 0.375, 0.5});
const Distribution kQ = Distribution::Dense({0.5, 0.375, 0.125});

Verdict JudgeOne(int token, const Distribution& p, const Distribution& q,
                 const std::vector<double>& tape) {
  return Judge("rejection", OneDraw(token, q), {p, p}, tape);
}

TEST(Rejection, AcceptsWithTheRatioOverTheLargestOne) {
  const double accept[] = {0.0625, 0.25};
  for (int token : {0, 1}) {
    EXPECT_EQ(
        JudgeOne(token, kP, kQ, {std::nextafter(accept[token], 0.0), 0.5}).path,
        Path{1})
        << token;
    EXPECT_EQ(JudgeOne(token, kP, kQ, {accept[token], 0.5}).path, Path{})
        << token;
  }
  // The token of the largest ratio needs no coin.
  EXPECT_EQ(JudgeOne(2, kP, kQ, {0.5}).path, Path{1});
}

// Not from a residual: what was refused may come back.
TEST(Rejection, TakesTheTokenAfterARefusalFromTheTargetItself) {
  for (int token : {0, 1}) {
    EXPECT_EQ(JudgeOne(token, kP, kQ, {kAlmostOne, 0.12}).next, 0);
    EXPECT_EQ(JudgeOne(token, kP, kQ, {kAlmostOne, 0.13}).next, 1);
    EXPECT_EQ(JudgeOne(token, kP, kQ, {kAlmostOne, 0.49}).next, 1);
    EXPECT_EQ(JudgeOne(token, kP, kQ, {kAlmostOne, 0.51}).next, 2);
  }
}

TEST(Rejection, AcceptsNothingWhereTheDraftLacksATokenOfTheTarget) {
  const auto q = Distribution::Dense({0.5, 0.5, 0});
  const auto sparse = Distribution::Sparse(3, {0, 1}, {0.5, 0.5});
  for (const Distribution& law : {q, sparse})
    for (int token : {0, 1}) {
      const Verdict verdict = JudgeOne(token, kP, law, {0.3});  // no coin
      EXPECT_EQ(verdict.path, Path{});
      EXPECT_EQ(verdict.next, 1);
    }
  // What only the draft can say costs nothing of M.
  const auto narrow = Distribution::Dense({0.5, 0.5, 0});
  const auto wide = Distribution::Dense({0.25, 0.25, 0.5});
  EXPECT_EQ(JudgeOne(0, narrow, wide, {kAlmostOne}).path, Path{1});
  EXPECT_EQ(JudgeOne(2, narrow, wide, {0.7}).path, Path{});
}

TEST(Rejection, JudgesEachNodeByItsOwnRow) {
  std::vector<Node> nodes =
      ParseNodes("9(0(0))", {.vocab_size = kQ.vocab_size()});
  for (Node& node : nodes)
    for (DrawList& list : node.lists) {
      list.proposal = {kQ};
      for (Draw& draw : list.draws) draw.proposal = kQ;
    }
  const DraftTree tree(nodes);
  // The root's row is q, which needs no coin; then a coin of 1/16, and a draw.
  EXPECT_EQ(Judge("rejection", tree, {kQ, kP, kP}, {0.06, 0.9}).path,
            (Path{1, 2}));
  const Verdict refused = Judge("rejection", tree, {kQ, kP, kQ}, {0.07, 0.9});
  EXPECT_EQ(refused.path, Path{1});
  EXPECT_EQ(refused.next, 2);
}

// Nothing is asked of chance, and the token is the target's.
TEST(Rejection, RefusesADroppedDraw) {
  std::vector<Node> nodes = ParseNodes("9(~2)", {.vocab_size = 3});
  nodes[0].lists[0].draws[0].proposal = kQ.KeepAtLeast(0.2);
  const Verdict verdict = Judge("rejection", DraftTree(nodes), {kP}, {0.12});
  EXPECT_EQ(verdict.path, Path{});
  EXPECT_EQ(verdict.next, 0);
}

TEST(Rejection, SurvivesMassesOfAlmostNothing) {
  const auto p = Distribution::Dense({0.3, 0.7});
  for (double mass : {std::numeric_limits<double>::denorm_min(),
                      std::numeric_limits<double>::min(), 1e-300, 1e-20}) {
    // As little in the draft: M is beyond all numbers, and this token's ratio.
    const auto q = Distribution::Dense({mass, 1 - mass});
    for (double u : {0., 0.5, kAlmostOne}) {
      EXPECT_EQ(JudgeOne(0, p, q, {u, u}).path, Path{1}) << mass << " " << u;
    }
    EXPECT_EQ(JudgeOne(1, p, q, {0.001, 0.5}).path, Path{}) << mass;
    // In the target: M is 2, and this token is next to never accepted.
    const auto even = Distribution::Dense({0.5, 0.5});
    EXPECT_EQ(JudgeOne(0, q, even, {0.5, 0.5}).path, Path{}) << mass;
    EXPECT_EQ(JudgeOne(1, q, even, {kAlmostOne, 0.5}).path, Path{1}) << mass;
  }
}

}  // namespace
}  // namespace banyan
