// The lossy verifiers against expectations worked out by hand: no proof checks
// their output distribution, so the tests state which tokens they accept.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/support/tree_text.h"
#include "tests/verifiers/judge.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using Path = std::vector<int>;

DraftTree Tree(const std::string& text) {
  return ParseTree(text,
                   {.vocab_size = 4, .draw_kinds = {DrawKind::kDeterministic}});
}

// Every node of the tree has the same target distribution over four tokens.
Verdict Judge(const std::string& verifier, const std::string& text,
              const std::vector<double>& p,
              const std::vector<double>& tape = {}) {
  const DraftTree tree = Tree(text);
  return Judge(verifier, tree,
               std::vector<Distribution>(static_cast<std::size_t>(tree.size()),
                                         Distribution::Dense(p)),
               tape);
}

const std::vector<double> kUniform = {0.25, 0.25, 0.25, 0.25};
// Its entropy is 1.75 log 2, so exp(-H) = 0.29730...
const std::vector<double> kSkew = {0.5, 0.25, 0.125, 0.125};

TEST(Typical, AcceptsOnlyWhatExceedsEpsilon) {
  const auto path = [](double epsilon) {
    return Judge(absl::StrCat("typical {delta: 9, next: argmax, epsilon: ",
                              epsilon, "}"),
                 "0(1)", kUniform)
        .path;
  };
  EXPECT_EQ(path(0.249), Path{1});
  EXPECT_EQ(path(0.25), Path{});
}

TEST(Typical, AcceptsOnlyWhatExceedsDeltaTimesTheInverseOfTheEntropy) {
  const auto path = [](const std::string& delta, const std::vector<double>& p) {
    return Judge("typical {epsilon: 1, next: argmax, delta: " + delta + "}",
                 "0(1)", p)
        .path;
  };
  EXPECT_EQ(path("0.99", kUniform), Path{1});
  EXPECT_EQ(path("1.01", kUniform), Path{});
  EXPECT_EQ(path("0.84", kSkew), Path{1});
  EXPECT_EQ(path("0.842", kSkew), Path{});
  EXPECT_EQ(path("0.99", {0.5, 0.5, 0, 0}), Path{1});  // log 0 counts for 0
  EXPECT_EQ(path("1.01", {0.5, 0.5, 0, 0}), Path{});
}

// Takes target distributions by node of 0(1(3) 2(3)): nodes 1 and 3 hold tokens
// 1 and 2, and each has a child with token 3.
Verdict JudgePair(const std::vector<std::vector<double>>& laws) {
  std::vector<Distribution> rows;
  for (const std::vector<double>& law : laws)
    rows.push_back(Distribution::Dense(law));
  return Judge("typical {next: argmax}", Tree("0(1(3) 2(3))"), rows, {});
}

TEST(Typical, TakesTheLongestPathThenTheMostProbable) {
  const std::vector<double> root = {0, 0.4, 0.6, 0};
  const std::vector<double> sure = {0, 0.1, 0, 0.9};
  const std::vector<double> half = {0.5, 0, 0, 0.5};
  const std::vector<double> never = {1, 0, 0, 0};
  // 0.4 * 0.9 against 0.6 * 0.5: the whole path counts, not its first step.
  EXPECT_EQ(JudgePair({root, sure, kSkew, half, kSkew}).path, (Path{1, 2}));
  EXPECT_EQ(JudgePair({root, half, kSkew, sure, kSkew}).path, (Path{3, 4}));
  // A longer path wins however little mass it has.
  EXPECT_EQ(JudgePair({root, half, kSkew, never, kSkew}).path, (Path{1, 2}));
  EXPECT_EQ(JudgePair({root, never, kSkew, half, kSkew}).path, (Path{3, 4}));
  // Of equals the first in the tree.
  EXPECT_EQ(JudgePair({{0, 0.5, 0.5, 0}, half, kSkew, half, kSkew}).path,
            (Path{1, 2}));
  // Nothing is accepted below what is not.
  EXPECT_EQ(JudgePair({{0.96, 0.02, 0.02, 0}, sure, kSkew, sure, kSkew}).path,
            Path{});
}

TEST(Typical, ReadsTheTokenAfterThePathWhereThePathEnds) {
  const Verdict argmax = Judge("typical {next: argmax}", Tree("0(1)"),
                               {Distribution::Dense({0, 1, 0, 0}),
                                Distribution::Dense({0.1, 0.2, 0.3, 0.4})},
                               {});
  EXPECT_EQ(argmax.path, Path{1});
  EXPECT_EQ(argmax.next, 3);
  EXPECT_EQ(Judge("typical", "0", kUniform, {0.6}).next, 2);  // drawn
}

TEST(LossyVerifiers, AcceptNoProbe) {
  for (const char* verifier :
       {"typical {next: argmax}", "lenience {form: argmax, lenience: 0.5}",
        "bild {next: argmax}", "top_beta {next: argmax}",
        "blockwise_top_k {next: argmax}",
        "blockwise_distance {next: argmax}"}) {
    const std::vector<double> p = {0.1, 0.3, 0.6, 0};
    EXPECT_EQ(Judge(verifier, "0(1 *2)", p).path, Path{1}) << verifier;
    EXPECT_EQ(Judge(verifier, "0(*2)", p).path, Path{}) << verifier;
  }
}

TEST(Bild, AcceptsUpToItsDistance) {
  const auto path = [](double rollback, const std::string& text) {
    return Judge(absl::StrCat("bild {next: argmax, rollback: ", rollback, "}"),
                 text, kSkew)
        .path;
  };
  EXPECT_EQ(path(0.694, "0(0)"), Path{1});  // log 2 = 0.6931...
  EXPECT_EQ(path(0.693, "0(0)"), Path{});
  EXPECT_EQ(path(2.08, "0(3)"), Path{1});  // log 8 = 2.0794...
  EXPECT_EQ(path(2.079, "0(3)"), Path{});
  EXPECT_EQ(path(0, "0(0)"), Path{});
}

TEST(Bild, TakesBackTheFirstTokenThatIsTooFarAndAllAfterIt) {
  // At nodes 0 to 3 of the chain 1, 2, 3.
  const auto judge = [](const std::vector<double>& second) {
    return Judge(
        "bild {rollback: 2}", Tree("0(1(2(3)))"),
        {Distribution::Dense(kUniform), Distribution::Dense(second),
         Distribution::Dense(kUniform), Distribution::Dense({0, 0.1, 0.9, 0})},
        {0.75});
  };
  // exp(-2) = 0.1353...: the second token falls, and 0.75 is in token 3's part.
  const Verdict fallen = judge({0.4, 0.2, 0.1, 0.3});
  EXPECT_EQ(fallen.path, Path{1});
  EXPECT_EQ(fallen.next, 3);
  // Here it stands: the token after the chain is drawn from its last row.
  const Verdict whole = judge({0.4, 0.2, 0.2, 0.2});
  EXPECT_EQ(whole.path, (Path{1, 2, 3}));
  EXPECT_EQ(whole.next, 2);
}

TEST(TopBeta, AcceptsTheBestBetaTokens) {
  const auto accepts = [](int beta, int token, const std::vector<double>& p) {
    return !Judge(absl::StrCat("top_beta {next: argmax, tolerance: 9, beta: ",
                               beta, "}"),
                  absl::StrCat("0(", token, ")"), p)
                .path.empty();
  };
  const std::vector<double> p = {0.2, 0.4, 0.1, 0.3};  // its best: 1, 3, 0, 2
  EXPECT_TRUE(accepts(1, 1, p));
  EXPECT_FALSE(accepts(1, 3, p));
  EXPECT_TRUE(accepts(2, 3, p));
  EXPECT_FALSE(accepts(2, 0, p));
  EXPECT_TRUE(accepts(3, 0, p));
  EXPECT_FALSE(accepts(3, 2, p));
  for (int all : {4, 9}) EXPECT_TRUE(accepts(all, 2, p));
  // Equals at the last place are all among them.
  EXPECT_TRUE(accepts(3, 2, kSkew) && accepts(3, 3, kSkew));
  EXPECT_FALSE(accepts(2, 2, kSkew) || accepts(2, 3, kSkew));
}

TEST(TopBeta, AcceptsWithinItsToleranceOfTheBest) {
  const auto path = [](double tolerance, const std::string& text) {
    return Judge(absl::StrCat("top_beta {next: argmax, beta: 4, tolerance: ",
                              tolerance, "}"),
                 text, kSkew)
        .path;
  };
  EXPECT_EQ(path(0, "0(0)"), Path{1});
  EXPECT_EQ(path(0, "0(1)"), Path{});
  EXPECT_EQ(path(0.694, "0(1)"), Path{1});  // log 2 = 0.6931...
  EXPECT_EQ(path(0.693, "0(1)"), Path{});
  EXPECT_EQ(path(1.387, "0(1(2))"), (Path{1, 2}));  // log 4 = 1.3862...
  EXPECT_EQ(path(1.386, "0(1(2))"), Path{1});
}

TEST(TopBeta, DrawsTheTokenAfterThePathFromTheRowWhereItEnds) {
  EXPECT_EQ(Judge("top_beta {beta: 1}", "0(1)", kSkew, {0.8}).next, 2);
  EXPECT_EQ(Judge("top_beta {beta: 1}", "0(0)", kSkew, {0.6}).next, 1);
  EXPECT_EQ(Judge("top_beta {beta: 1, next: argmax}", "0(1)", kSkew).next, 0);
}

bool Stands(const std::string& verifier, int token,
            const std::vector<double>& p) {
  return !Judge(verifier, absl::StrCat("0(", token, ")"), p).path.empty();
}

TEST(BlockwiseTopK, AcceptsTheBestK) {
  const std::vector<double> p = {0.2, 0.4, 0.1, 0.3};  // its best: 1, 3, 0, 2
  const auto stands = [&](int k, int token) {
    return Stands(absl::StrCat("blockwise_top_k {next: argmax, k: ", k, "}"),
                  token, p);
  };
  EXPECT_TRUE(stands(1, 1));
  EXPECT_FALSE(stands(1, 3));
  EXPECT_TRUE(stands(2, 3));
  EXPECT_FALSE(stands(2, 0));
  EXPECT_TRUE(stands(3, 0));
  EXPECT_FALSE(stands(3, 2));
  EXPECT_TRUE(stands(9, 2));
  // Equals at the last place are all among them; how far below the best the
  // k-th lies is nothing to it.
  const std::string two = "blockwise_top_k {next: argmax, k: 2}";
  EXPECT_TRUE(Stands(two, 2, {0.998, 0.001, 0.001, 0}));
  EXPECT_FALSE(Stands(two, 3, {0.998, 0.001, 0.001, 0}));
}

TEST(BlockwiseDistance, AcceptsIdsNearTheBestOnEitherSide) {
  const auto stands = [](int epsilon, int token, const std::vector<double>& p) {
    return Stands(absl::StrCat("blockwise_distance {next: argmax, epsilon: ",
                               epsilon, "}"),
                  token, p);
  };
  const std::vector<double> first = {0.7, 0.1, 0.1, 0.1};
  const std::vector<double> third = {0.3, 0.01, 0.4, 0.29};
  EXPECT_TRUE(stands(0, 0, first));
  EXPECT_FALSE(stands(0, 1, first));
  EXPECT_TRUE(stands(1, 1, first));
  EXPECT_FALSE(stands(1, 2, first));
  EXPECT_TRUE(stands(3, 3, first));
  // Above and below, and by the id alone: token 0 is likely and far.
  EXPECT_TRUE(stands(1, 1, third));
  EXPECT_TRUE(stands(1, 3, third));
  EXPECT_FALSE(stands(1, 0, third));
  // Of equals the best is the lowest.
  EXPECT_FALSE(stands(1, 3, {0, 0.5, 0, 0.5}));
  EXPECT_TRUE(stands(2, 3, {0, 0.5, 0, 0.5}));
}

TEST(Blockwise, KeepsThePrefixAndTakesTheNextTokenFromWhereItEnds) {
  const std::vector<Distribution> rows = {
      Distribution::Dense({0.6, 0.3, 0.1, 0}),
      Distribution::Dense({0.1, 0.2, 0.7, 0}),
      Distribution::Dense({0, 0.1, 0.2, 0.7}),
      Distribution::Dense({0.25, 0.25, 0.25, 0.25})};
  for (const char* name : {"blockwise_top_k", "blockwise_distance"}) {
    // Token 1 passes the first and the second row; in the third it is last and
    // far from the best.
    const Verdict argmax = Judge(absl::StrCat(name, " {next: argmax}"),
                                 Tree("0(1(1(1)))"), rows, {});
    EXPECT_EQ(argmax.path, (Path{1, 2})) << name;
    EXPECT_EQ(argmax.next, 3) << name;
    EXPECT_EQ(Judge(name, Tree("0(1(1(1)))"), rows, {0.05}).next, 1) << name;
  }
}

TEST(LossyVerifiers, HaveTheDefaultsThatTheirHeadersState) {
  const auto accepts = [](const std::string& verifier,
                          const std::vector<double>& p) {
    return !Judge(verifier + " {next: argmax}", "0(1)", p).path.empty();
  };
  // exp(-3) = 0.0497...
  EXPECT_TRUE(accepts("bild", {0.95, 0.05, 0, 0}));
  EXPECT_FALSE(accepts("bild", {0.951, 0.049, 0, 0}));
  // exp(-1) = 0.3678...
  EXPECT_TRUE(accepts("top_beta", {0.6, 0.221, 0.179, 0}));
  EXPECT_FALSE(accepts("top_beta", {0.6, 0.22, 0.18, 0}));
  EXPECT_TRUE(accepts("top_beta", {0.3, 0.24, 0.26, 0.2}));
  EXPECT_FALSE(accepts("top_beta", {0.3, 0.2, 0.26, 0.24}));
  EXPECT_TRUE(accepts("blockwise_top_k", {0.6, 0.2, 0.15, 0.05}));
  EXPECT_FALSE(accepts("blockwise_top_k", {0.6, 0.15, 0.2, 0.05}));
  EXPECT_TRUE(accepts("blockwise_distance", {0.1, 0.2, 0.7, 0}));
  EXPECT_FALSE(accepts("blockwise_distance", {0.1, 0.2, 0.1, 0.6}));
}

// A distribution of one token is that of temperature 0.
TEST(LossyVerifiers, AcceptNothingThatTheTargetCannotSay) {
  for (const char* verifier :
       {"typical {epsilon: 0, next: argmax}",
        "lenience {form: argmax, lenience: 0.001}",
        "bild {rollback: 100000, next: argmax}",
        "top_beta {beta: 4, tolerance: 100000, next: argmax}",
        "blockwise_top_k {k: 4, next: argmax}",
        "blockwise_distance {epsilon: 4, next: argmax}"}) {
    const Verdict verdict = Judge(verifier, "0(3 1(1(2)))", {0, 1, 0, 0});
    EXPECT_EQ(verdict.path, (Path{2, 3})) << verifier;
    EXPECT_EQ(verdict.next, 1) << verifier;
  }
}

TEST(LossyVerifiers, TakeTheLongestPathOfATree) {
  for (const char* verifier :
       {"bild {rollback: 1.5, next: argmax}",
        "top_beta {beta: 2, next: argmax}", "blockwise_top_k {next: argmax}",
        "blockwise_distance {next: argmax}"})
    EXPECT_EQ(Judge(verifier, "0(0 1(2 0) 3(0(0)))", kSkew).path, (Path{2, 4}))
        << verifier;
}

TEST(Lenience, ByArgmaxTakesTheMostProbableChildAboveItsShare) {
  const auto path = [](const std::string& share, const std::string& text,
                       const std::vector<double>& p) {
    return Judge("lenience {form: argmax, lenience: " + share + "}", text, p)
        .path;
  };
  EXPECT_EQ(path("0.5", "0(1)", kSkew), Path{1});  // just its share
  EXPECT_EQ(path("0.51", "0(1)", kSkew), Path{});
  EXPECT_EQ(path("0.25", "0(2 1 3)", kSkew), Path{2});  // token 1 stands second
  EXPECT_EQ(path("0.25", "0(3 2)", kSkew), Path{1});    // the first of equals
  EXPECT_EQ(path("0.001", "0(3)", {0.5, 0.5, 0, 0}), Path{});
}

TEST(Lenience, ByArgmaxEmitsTheMostProbableTokenOfTheLastRow) {
  const Verdict verdict = Judge(
      "lenience {form: argmax, lenience: 0.5}", Tree("0(1(2))"),
      {Distribution::Dense({0, 1, 0, 0}),
       Distribution::Dense({0.7, 0, 0.1, 0.2}), Distribution::Dense(kUniform)},
      {});
  EXPECT_EQ(verdict.path, Path{1});
  EXPECT_EQ(verdict.next, 0);
}

TEST(Lenience, BySamplingDividesTheRatioByItself) {
  // One draw of token 0 from q = (1/2, 1/2): p / q is 1/4, with lenience 1/2
  // the coin is 1/2.
  const auto q = Distribution::Dense({0.5, 0.5});
  const auto p = Distribution::Dense({0.125, 0.875});
  const DraftTree tree = OneDraw(0, q);
  const std::string verifier = "lenience {lenience: 0.5}";
  EXPECT_EQ(Judge(verifier, tree, {p, p}, {std::nextafter(0.5, 0.0), 0}).path,
            Path{1});
  const Verdict refused = Judge(verifier, tree, {p, p}, {0.5, 0});
  EXPECT_EQ(refused.path, Path{});
  EXPECT_EQ(refused.next, 1);  // all that is left of p
}

}  // namespace
}  // namespace banyan
