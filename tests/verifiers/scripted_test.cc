// The edges of chance: coins of 0 and of the largest number below 1, ratios hit
// exactly, masses near nothing, residuals that are empty. Field pitfall 7.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tally.h"
#include "tests/support/tree_text.h"
#include "tests/verifiers/judge.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

const double kAlmostOne = std::nextafter(1.0, 0.0);
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

// Every accepted token and the one after them has mass under the target.
void ExpectPossible(const DraftTree& tree,
                    const std::vector<Distribution>& rows,
                    const Verdict& verdict, const std::string& what) {
  int node = 0;
  for (int child : verdict.path) {
    ASSERT_EQ(tree.node(child).parent, node) << what;
    EXPECT_GT(rows[static_cast<std::size_t>(node)].Mass(tree.node(child).token),
              0)
        << "node " << child << ": " << what;
    node = child;
  }
  EXPECT_GT(rows[static_cast<std::size_t>(node)].Mass(verdict.next), 0)
      << "the token after node " << node << ": " << what;
}

// Trees that the verifier may judge, drawn from proposals with zeros. Counts
// those and the others.
std::vector<DraftTree> LawfulTrees(const std::string& verifier, int seed,
                                   Tally& tally) {
  std::vector<DraftTree> trees;
  for (const char* policy :
       {"chain {nodes: 3}", "sequences {width: 3, levels: 2}",
        "expansion {branching: [2, 2]}", "best_first {most_draws: 5}",
        "adaptive_chain {nodes: 3, on_low: drop, threshold: 0.3}"}) {
    const std::unique_ptr<TreePolicy> grown_by = PolicyOf(policy);
    for (DrawKind draw_kind : grown_by->traits().draw_kinds) {
      TableDrafter drafter(
          Toy({.vocab_size = 4, .seed = seed, .sharpness = 2, .zeros = true}));
      const TrunkTree tree = MustDraft(
          drafter, *grown_by,
          {.draw_kind = draw_kind, .seed = static_cast<std::uint64_t>(seed)});
      const DraftTree merged = Merge(absl::MakeConstSpan(&tree, 1));
      const bool lawful =
          CheckLawful(verifier, VerifierOf(verifier)->traits(), merged).ok();
      tally.Count(lawful ? CaseResult::kProven : CaseResult::kUnlawful);
      if (lawful) trees.push_back(merged);
    }
  }
  return trees;
}

std::vector<Distribution> RowsOf(const DraftTree& tree, int seed) {
  const auto target = Toy({.vocab_size = 4, .seed = seed, .zeros = true});
  std::vector<Distribution> rows;
  for (int node = 0; node < tree.size(); ++node) {
    std::vector<TokenId> text = {0};
    const std::vector<TokenId> path = TokensTo(tree, node);
    text.insert(text.end(), path.begin(), path.end());
    rows.push_back(LawAfter(*target, text));
  }
  return rows;
}

// Tapes of one number, and of edges at random.
std::vector<std::vector<double>> Tapes(std::uint64_t seed) {
  std::vector<std::vector<double>> tapes = {
      std::vector<double>(200, 0), std::vector<double>(200, kAlmostOne)};
  std::mt19937_64 bits(seed);
  for (int i = 0; i < 8; ++i) {
    tapes.emplace_back();
    for (int k = 0; k < 200; ++k)
      tapes.back().push_back(
          std::vector<double>{0, kTiny, 0.5, kAlmostOne}[bits() % 4]);
  }
  return tapes;
}

TEST(EveryLosslessVerifier, NeverEmitsATokenTheTargetCannot) {
  Tally tally;
  for (const std::string& verifier : LosslessVerifiers(1)) {
    for (int seed = 0; seed < 30; ++seed) {
      for (const DraftTree& tree : LawfulTrees(verifier, seed, tally)) {
        const std::vector<Distribution> rows = RowsOf(tree, 100 + seed);
        for (const auto& tape : Tapes(static_cast<std::uint64_t>(seed))) {
          ExpectPossible(
              tree, rows, Judge(verifier, tree, rows, tape),
              absl::StrCat(verifier, ", seed ", seed, ", ", ToText(tree),
                           ", tape ", tape[0], " ", tape[1], " ", tape[2]));
        }
      }
    }
  }
  ExpectCounts(tally, 2550);
}

TEST(Greedy, NeverEmitsATokenTheTargetCannot) {
  Tally tally;
  for (int seed = 0; seed < 30; ++seed) {
    for (const DraftTree& tree : LawfulTrees("greedy", seed, tally)) {
      std::vector<Distribution> rows = RowsOf(tree, 100 + seed);
      for (Distribution& row : rows)
        row = Distribution::OneHot(row.vocab_size(), row.Argmax());
      ExpectPossible(tree, rows, Judge("greedy", tree, rows, {}), ToText(tree));
    }
  }
  ExpectCounts(tally, 390);
}

// The lossless verifiers that accept a single draw with probability p / q.
const std::vector<std::string>& RatioVerifiers() {
  static const auto& found = *new std::vector<std::string>([] {
    const auto q = Distribution::Dense({0.5, 0.5});
    const auto p = Distribution::Dense({0.25, 0.75});
    const DraftTree tree = OneDraw(0, q);
    std::vector<std::string> names;
    for (const std::string& verifier : LosslessVerifiers(1))
      if (CheckLawful(verifier, VerifierOf(verifier)->traits(), tree).ok() &&
          !Judge(verifier, tree, {p, p}, {0.4, 0}).path.empty() &&
          Judge(verifier, tree, {p, p}, {0.6, 0}).path.empty())
        names.push_back(verifier);
    return names;
  }());
  return found;
}

TEST(EveryRatioVerifier, IsAmongThemByWhatItAccepts) {
  EXPECT_THAT(RatioVerifiers(),
              testing::IsSupersetOf<std::string>(
                  {"leviathan", "multi_round", "multi_round {order: shuffled}",
                   "without_replacement", "k_seq", "block", "traversal"}));
}

TEST(EveryRatioVerifier, RefusesACoinThatHitsTheRatioAndTakesOneJustBelow) {
  const auto q = Distribution::Dense({0.5, 0.5});
  const auto p = Distribution::Dense({0.25, 0.75});
  const DraftTree tree = OneDraw(0, q);  // the ratio is a half
  for (const std::string& verifier : RatioVerifiers()) {
    const Verdict hit = Judge(verifier, tree, {p, p}, {0.5, 0});
    EXPECT_TRUE(hit.path.empty()) << verifier;
    EXPECT_EQ(hit.next, 1) << verifier << ": all that is left of p";
    const Verdict below =
        Judge(verifier, tree, {p, p}, {std::nextafter(0.5, 0.0), 0});
    EXPECT_EQ(below.path, std::vector<int>{1}) << verifier;
  }
}

TEST(MatchAndPointMass, RefuseACoinThatHitsTheMassAndTakeOneJustBelow) {
  const auto p = Distribution::Dense({0.25, 0.75});
  const DraftTree tree = OneDraw(0, Distribution::OneHot(2, 0));
  for (const char* verifier : {"match", "point_mass"}) {
    const Verdict hit = Judge(verifier, tree, {p, p}, {0.25, 0});
    EXPECT_TRUE(hit.path.empty()) << verifier;
    EXPECT_EQ(hit.next, 1) << verifier;
    const Verdict below =
        Judge(verifier, tree, {p, p}, {std::nextafter(0.25, 0.0), 0});
    EXPECT_EQ(below.path, std::vector<int>{1}) << verifier;
  }
}

TEST(EveryRatioVerifier, AcceptsADrawOfAlmostNoMass) {
  const auto p = Distribution::Dense({0.3, 0.7});
  for (double mass :
       {kTiny, std::numeric_limits<double>::min(), 1e-300, 1e-20}) {
    const DraftTree tree = OneDraw(0, Distribution::Dense({mass, 1 - mass}));
    for (const std::string& verifier : RatioVerifiers())
      for (double u : {0., 0.5, kAlmostOne})
        EXPECT_EQ(Judge(verifier, tree, {p, p}, {u, u, u}).path,
                  std::vector<int>{1})
            << verifier << ", mass " << mass << ", coin " << u;
  }
}

TEST(EveryRatioVerifier, RefusesADrawTheTargetGivesAlmostNoMass) {
  const auto q = Distribution::Dense({0.5, 0.5});
  for (double mass : {kTiny, 1e-300, 1e-20}) {
    const auto p = Distribution::Dense({mass, 1 - mass});
    for (const std::string& verifier : RatioVerifiers()) {
      const Verdict verdict =
          Judge(verifier, OneDraw(0, q), {p, p}, {0.5, 0.5, 0.5});
      EXPECT_TRUE(verdict.path.empty()) << verifier << ", mass " << mass;
      EXPECT_EQ(verdict.next, 1) << verifier << ", mass " << mass;
    }
  }
}

TEST(EveryRatioVerifier, SurvivesEqualLawsUpToRounding) {
  std::mt19937_64 bits(1);
  const auto rounded = [&bits](double mass) {
    return bits() % 3 == 0 ? std::nextafter(mass, bits() % 2 == 0 ? 0. : 1.)
                           : mass;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> p, q;
    for (int token = 0; token < 5; ++token) {
      p.push_back(static_cast<double>(1 + bits() % 1000) / 3000);
      q.push_back(rounded(p.back()));
    }
    const std::vector<Distribution> rows(2,
                                         Distribution::Dense(p).Normalized());
    const DraftTree tree = OneDraw(static_cast<TokenId>(round % 5),
                                   Distribution::Dense(q).Normalized());
    for (const std::string& verifier : RatioVerifiers())
      for (double u : {0., 0.5, kAlmostOne})
        ExpectPossible(tree, rows, Judge(verifier, tree, rows, {u, u, u}),
                       absl::StrCat(verifier, ", round ", round));
  }
}

}  // namespace
}  // namespace banyan
