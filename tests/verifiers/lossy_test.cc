// The lossy verifiers, judged by hand: nothing proves their law, so what they
// accept is written down.
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
  return ParseTree(text, {.vocab_size = 4, .laws = {DraftLaw::kDeterministic}});
}

// Every node of the tree has the same law of four tokens.
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

// Laws by node of 0(1(3) 2(3)): nodes 1 and 3 hold tokens 1 and 2, and below
// each stands a token 3.
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
       {"typical {next: argmax}", "lenience {form: argmax, lenience: 0.5}"}) {
    const std::vector<double> p = {0.1, 0.3, 0.6, 0};
    EXPECT_EQ(Judge(verifier, "0(1 *2)", p).path, Path{1}) << verifier;
    EXPECT_EQ(Judge(verifier, "0(*2)", p).path, Path{}) << verifier;
  }
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
  std::vector<Node> nodes(2);
  nodes[0] = {.token = 9,
              .children = {1},
              .lists = {{.proposal = q,
                         .draws = {{.token = 0, .child = 1, .proposal = q}}}}};
  nodes[1] = {.token = 0, .parent = 0, .depth = 1};
  const DraftTree tree(nodes);
  const std::string verifier = "lenience {lenience: 0.5}";
  EXPECT_EQ(Judge(verifier, tree, {p, p}, {std::nextafter(0.5, 0.0), 0}).path,
            Path{1});
  const Verdict refused = Judge(verifier, tree, {p, p}, {0.5, 0});
  EXPECT_EQ(refused.path, Path{});
  EXPECT_EQ(refused.next, 1);  // all that is left of p
}

}  // namespace
}  // namespace banyan
