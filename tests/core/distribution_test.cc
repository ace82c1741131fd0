#include "core/prob/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/random/random_source.h"
#include "tests/core/laws.h"
#include "tests/core/not_finite.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const double kTiny = std::numeric_limits<double>::denorm_min();

// A mass that Without() or Normalized() scaled has seen one division and some
// products, of a sum of at most 40 terms: far fewer than 1000 roundings.
constexpr double kRelative = 1000 * std::numeric_limits<double>::epsilon();

std::vector<std::pair<TokenId, double>> Visited(const Distribution& law) {
  std::vector<std::pair<TokenId, double>> out;
  law.ForEach([&](TokenId token, double mass) {
    out.push_back({token, mass});
  });
  return out;
}

// Compares every accessor of a distribution with its masses.
void ExpectLaw(const Distribution& law, const std::vector<double>& masses) {
  ASSERT_EQ(law.vocab_size(), static_cast<int>(masses.size()));
  std::vector<std::pair<TokenId, double>> positive;
  double total = 0;
  for (int token = 0; token < law.vocab_size(); ++token) {
    EXPECT_NEAR(law.Mass(token), masses[token], kRelative * masses[token])
        << "token " << token;
    total += masses[token];
    if (masses[token] > 0) positive.push_back({token, law.Mass(token)});
  }
  EXPECT_NEAR(law.total(), total, kRelative * total);
  EXPECT_EQ(Visited(law), positive);
  ASSERT_EQ(law.empty(), positive.empty());
  if (law.empty()) return;
  EXPECT_EQ(law.Argmax(),
            std::max_element(masses.begin(), masses.end()) - masses.begin());
}

// The stored row, entry by entry, says the same as Mass().
void ExpectRowAgrees(const Distribution& law) {
  for (int i = 0; i < static_cast<int>(law.masses().size()); ++i) {
    const bool out =
        std::count(law.left_out().begin(), law.left_out().end(), i) > 0;
    const double mass = out ? 0 : law.factor() * law.masses()[i];
    EXPECT_EQ(law.Mass(law.TokenAt(i)), mass) << "entry " << i;
    EXPECT_EQ(law.IndexOf(law.TokenAt(i)), i);
  }
}

TEST(Distribution, HasNoVocabularyAndNoMassByDefault) {
  const Distribution law;
  EXPECT_EQ(law.vocab_size(), 0);
  EXPECT_EQ(law.total(), 0);
  EXPECT_TRUE(law.empty());
  EXPECT_THAT(Visited(law), IsEmpty());
}

TEST(Distribution, GivesBackTheMassesOfADenseRow) {
  const Distribution law = Distribution::Dense({0.25, 0, 0.5, 0.125});
  EXPECT_TRUE(law.dense());
  EXPECT_EQ(law.total(), 0.875);
  EXPECT_THAT(MassesOf(law), ElementsAre(0.25, 0, 0.5, 0.125));
  EXPECT_THAT(Visited(law),
              ElementsAre(Pair(0, 0.25), Pair(2, 0.5), Pair(3, 0.125)));
}

TEST(Distribution, GivesBackTheEntriesOfASparseRow) {
  const Distribution law = Distribution::Sparse(9, {1, 4, 8}, {0.25, 0, 0.5});
  EXPECT_FALSE(law.dense());
  EXPECT_EQ(law.total(), 0.75);
  EXPECT_THAT(MassesOf(law), ElementsAre(0, 0.25, 0, 0, 0, 0, 0, 0, 0.5));
  EXPECT_THAT(Visited(law), ElementsAre(Pair(1, 0.25), Pair(8, 0.5)));
  EXPECT_EQ(law.IndexOf(4), 1);
  EXPECT_EQ(law.IndexOf(5), -1);
  EXPECT_EQ(law.TokenAt(2), 8);
}

TEST(Distribution, PutsAllMassOfAOneHotLawOnOneToken) {
  const Distribution law = Distribution::OneHot(4, 2);
  ExpectLaw(law, {0, 0, 1, 0});
  EXPECT_EQ(law.masses().size(), 1u);
}

TEST(Distribution, MeansTheSameDenseSparseAndOneHot) {
  LawDice dice(1);
  for (int i = 0; i < 500; ++i) {
    const int vocab = 1 + dice.Below(40);
    const double total = i % 2 == 0 ? 1 : dice.Uniform() + 0.01;
    const std::vector<double> masses = RandomMasses(dice, vocab, total);
    for (const Distribution& law :
         {Distribution::Dense(masses), SparseOf(masses)}) {
      ExpectLaw(law, masses);
      ExpectRowAgrees(law);
    }
  }
  ExpectLaw(Distribution::Dense({0, 1, 0}), {0, 1, 0});
  ExpectLaw(SparseOf({0, 1, 0}), {0, 1, 0});
  ExpectLaw(Distribution::OneHot(3, 1), {0, 1, 0});
}

TEST(Distribution, TakesTheLowestTokenOfATie) {
  EXPECT_EQ(Distribution::Dense({0.1, 0.3, 0.3, 0.3}).Argmax(), 1);
  const Distribution sparse =
      Distribution::Sparse(9, {2, 5, 7}, {0.2, 0.4, 0.4});
  EXPECT_EQ(sparse.Argmax(), 5);
  EXPECT_EQ(sparse.Without(5).Argmax(), 7);
}

// A shortened vector still holds its old entries after its end.
TEST(Distribution, IsReadNoFurtherThanItsRow) {
  std::vector<double> masses = {0.25, 0.5, 9};
  masses.pop_back();
  const Distribution law = Distribution::Dense(std::move(masses));
  EXPECT_EQ(law.Argmax(), 1);
  int visited = 0;
  law.ForEach([&](TokenId, double) { ++visited; });
  EXPECT_EQ(visited, 2);
}

TEST(Distribution, IsEmptyWithoutPositiveMass) {
  EXPECT_TRUE(Distribution::Dense({0, 0}).empty());
  EXPECT_TRUE(Distribution::Sparse(2, {}, {}).empty());
  EXPECT_TRUE(Distribution::Sparse(2, {1}, {0}).empty());
  EXPECT_FALSE(Distribution::Dense({0, kTiny}).empty());
}

// ---- Without

TEST(Distribution, WithoutATokenKeepsTheTotalAndTheOtherRatios) {
  const Distribution law = Distribution::Dense({0.125, 0.5, 0.25}).Without(1);
  EXPECT_EQ(law.Mass(1), 0);
  EXPECT_EQ(law.Mass(2), 2 * law.Mass(0));
  EXPECT_NEAR(law.total(), 0.875, 1e-15);
  EXPECT_NEAR(law.Mass(0), 0.875 / 3, 1e-15);
}

TEST(Distribution, WithoutATokenThatHasNoMassIsTheSameLaw) {
  const std::vector<double> masses = {0.3, 0, 0.1, 0};
  ExpectLaw(Distribution::Dense(masses).Without(1), masses);
  ExpectLaw(SparseOf(masses).Without(1), masses);
  ExpectLaw(Distribution::Sparse(4, {0, 1, 2}, {0.3, 0, 0.1}).Without(1),
            masses);
}

TEST(Distribution, WithoutATokenTwiceIsTheSameAsOnce) {
  const Distribution once = Distribution::Dense({0.25, 0.25, 0.5}).Without(0);
  ExpectLaw(once, {0, 1 / 3.0, 2 / 3.0});
  ExpectLaw(once.Without(0), {0, 1 / 3.0, 2 / 3.0});
}

TEST(Distribution, WithoutLeavesTheOriginalAloneAndSharesItsRow) {
  const std::vector<double> masses = {0.5, 0.25, 0.25};
  const Distribution law = Distribution::Dense(masses);
  const Distribution rest = law.Without(0);
  ExpectLaw(law, masses);
  EXPECT_EQ(law.masses().data(), rest.masses().data());
}

// Removes tokens in any order, down to the empty distribution, and compares
// with renormalised masses.
TEST(Distribution, ChainsWithoutUntilNothingIsLeft) {
  LawDice dice(2);
  for (int i = 0; i < 200; ++i) {
    const int vocab = 1 + dice.Below(20);
    const LawForm form = kForms[i % 3];
    Distribution law = RandomLaw(dice, form, vocab, i % 4 == 0 ? 0.3 : 1);
    const double total = law.total();
    std::vector<double> masses = MassesOf(law);
    while (!law.empty()) {
      const std::vector<std::pair<TokenId, double>> some = Visited(law);
      const TokenId token =
          some[dice.Below(static_cast<int>(some.size()))].first;
      law = law.Without(token);
      masses[token] = 0;
      double sum = 0;
      for (double mass : masses) sum += mass;
      for (double& mass : masses) mass *= sum > 0 ? total / sum : 0;
      ExpectLaw(law, masses);
      ExpectRowAgrees(law);
    }
    EXPECT_EQ(law.total(), 0);
  }
}

// 1 - 1e-17 is 1 in double, so a total kept by subtraction would be 0 here.
TEST(Distribution, WithoutNearlyAllMassKeepsTheTinyRatiosExact) {
  for (double unit : {1e-17, 1e-100, 1e-290}) {
    const std::vector<double> masses = {1 * unit, 1, 3 * unit, 6 * unit};
    for (const Distribution& law :
         {Distribution::Dense(masses), SparseOf(masses)}) {
      const Distribution rest = law.Without(1);
      EXPECT_NEAR(rest.Mass(0), 0.1, 1e-13);
      EXPECT_NEAR(rest.Mass(2), 0.3, 3e-13);
      EXPECT_NEAR(rest.Mass(3), 0.6, 6e-13);
      EXPECT_NEAR(rest.total(), 1, 1e-12);
      EXPECT_NEAR(rest.Without(3).Mass(2), 0.75, 1e-12);
    }
  }
}

// The largest of what is left is left out each time: ten decades at a step.
TEST(Distribution, WithoutKeepsTinyRatiosOverAWholeChain) {
  std::vector<double> masses;
  for (int i = 0; i < 20; ++i) masses.push_back(std::pow(10.0, -10 * i));
  Distribution law = Distribution::Dense(masses).Normalized();
  for (int token = 0; token < 19; ++token) {
    law = law.Without(token);
    EXPECT_NEAR(law.Mass(token + 1), 1, 2e-10) << token;
    if (token < 18) {
      const double ratio = law.Mass(token + 2) / law.Mass(token + 1);
      EXPECT_NEAR(ratio, 1e-10, 1e-22) << token;
    }
  }
  EXPECT_TRUE(law.Without(19).empty());
}

// One decade at a step: each step loses one digit of a total that is kept by
// subtraction, so all sixteen are gone before the chain is at its end.
TEST(Distribution, WithoutKeepsTheTotalOverALongChainOfSmallSteps) {
  std::vector<double> masses(60);
  for (int i = 0; i < 60; ++i) masses[i] = 0.9 * std::pow(10.0, -i);
  for (Distribution law : {Distribution::Dense(masses), SparseOf(masses)}) {
    const double total = law.total();
    for (int token = 0; token < 59; ++token) {
      law = law.Without(token);
      double rest = 0;
      for (int i = 59; i > token; --i) rest += masses[i];
      const double mass = masses[token + 1] / rest * total;
      ASSERT_NEAR(law.Mass(token + 1), mass, 1e-11) << token;
      ASSERT_NEAR(law.total(), total, 1e-11) << token;
    }
    EXPECT_TRUE(law.Without(59).empty());
  }
}

// 1 / 1e-310 overflows: the factor must not become infinite. Masses this small
// come from a softmax over logits some 715 apart. They count as none.
TEST(Distribution, WithoutIsEmptyWhenWhatIsLeftHasNoReciprocal) {
  for (const std::vector<double>& masses : std::vector<std::vector<double>>{
           {1, 2e-310, 6e-310}, {1, kTiny, 0}, {1e-300, 1e-309, 0}}) {
    const Distribution law = Distribution::Dense(masses).Without(0);
    EXPECT_TRUE(law.empty());
    EXPECT_EQ(law.total(), 0);
    EXPECT_EQ(law.Mass(1), 0);
    EXPECT_THAT(Visited(law), IsEmpty());
    ExpectRowAgrees(law);
  }
}

TEST(Distribution, NeverDrawsWhatIsLeftOut) {
  LawDice dice(3);
  for (int i = 0; i < 300; ++i) {
    Distribution law = RandomLaw(dice, kForms[i % 2], 2 + dice.Below(9));
    while (!law.empty()) {
      for (double u : {0.0, dice.Uniform(), std::nextafter(1.0, 0.0)})
        EXPECT_GT(law.Mass(law.TokenAt(DrawWith(u, law.weights()))), 0);
      law = law.Without(law.TokenAt(DrawWith(dice.Uniform(), law.weights())));
    }
  }
}

// ---- KeepAtLeast, Normalized

TEST(Distribution, KeepsTheTokensAtTheThresholdAndAboveAsTheyAre) {
  const std::vector<double> masses = {0.5, 0.125, 0.25, 0.0625};
  for (const Distribution& law :
       {Distribution::Dense(masses), SparseOf(masses)}) {
    ExpectLaw(law.KeepAtLeast(0.125), {0.5, 0.125, 0.25, 0});
    ExpectLaw(law.KeepAtLeast(std::nextafter(0.125, 1)), {0.5, 0, 0.25, 0});
    ExpectLaw(law.KeepAtLeast(0), masses);
    ExpectLaw(law.KeepAtLeast(0.6), {0, 0, 0, 0});
  }
}

TEST(Distribution, ComparesTheThresholdWithScaledMassesAndSkipsTheLeftOut) {
  const Distribution law =
      Distribution::Dense({0.5, 0.125, 0.25, 0.125}).Without(0);
  ExpectLaw(law.KeepAtLeast(0.2), {0, 0.25, 0.5, 0.25});
  ExpectLaw(law.KeepAtLeast(0.3), {0, 0, 0.5, 0});
}

TEST(Distribution, NormalizedSumsToOneWithTheSameRatios) {
  LawDice dice(4);
  for (int i = 0; i < 300; ++i) {
    const int vocab = 3 + dice.Below(30);
    Distribution law = RandomLaw(dice, kForms[i % 3], vocab, 0.2);
    const Distribution less = law.Without(law.Argmax());
    if (!less.empty() && i % 2 == 0) law = less;
    std::vector<double> masses = MassesOf(law);
    double total = 0;
    for (double mass : masses) total += mass;
    for (double& mass : masses) mass /= total;
    ExpectLaw(law.Normalized(), masses);
  }
}

TEST(Distribution, NormalizedIsTheInverseOfWhatKeepAtLeastLost) {
  ExpectLaw(Distribution::Dense({0.5, 0.1, 0.25, 0.15})
                .KeepAtLeast(0.25)
                .Normalized(),
            {2 / 3.0, 0, 1 / 3.0, 0});
}

// ---- Overlap

// Twenty terms of at most 1 and their roundings.
TEST(Overlap, IsTheSumOfTheSmallerMassesInEveryForm) {
  LawDice dice(5);
  for (int i = 0; i < 2000; ++i) {
    const int vocab = 1 + dice.Below(20);
    Distribution p = RandomLaw(dice, kForms[i % 3], vocab);
    Distribution q = RandomLaw(dice, kForms[i / 3 % 3], vocab, 0.7);
    if (i % 2 == 0) p = p.Without(dice.Below(vocab));
    if (i % 5 == 0) q = q.Without(dice.Below(vocab)).Without(0);
    double overlap = 0;
    for (int token = 0; token < vocab; ++token)
      overlap += std::min(p.Mass(token), q.Mass(token));
    EXPECT_NEAR(Overlap(p, q), overlap, 1e-14) << "case " << i;
    EXPECT_NEAR(Overlap(q, p), overlap, 1e-14) << "case " << i;
  }
}

TEST(Overlap, IsOneWithItselfAndNothingWhenDisjoint) {
  const Distribution law = Distribution::Dense({0.25, 0, 0.75});
  EXPECT_EQ(Overlap(law, law), 1);
  EXPECT_EQ(Overlap(law, Distribution::OneHot(3, 1)), 0);
  EXPECT_EQ(Overlap(law, Distribution::Sparse(3, {}, {})), 0);
}

// ---- What only a programmer can cause

TEST(DistributionDeathTest, DiesOfAMassThatIsNegativeOrNotFinite) {
  for (double bad : {-1e-9, kNaN, kInfinity}) {
    EXPECT_DEATH(Distribution::Dense({0.5, bad}), "check failed") << bad;
    EXPECT_DEATH(Distribution::Sparse(3, {0, 1}, {0.5, bad}), "check failed")
        << bad;
  }
}

TEST(DistributionDeathTest, DiesOfTokensOutOfOrderOrRange) {
  const std::vector<double> masses = {0.5, 0.5};
  for (const std::vector<TokenId>& tokens : std::vector<std::vector<TokenId>>{
           {2, 1}, {1, 1}, {1, 3}, {-1, 1}, {1}, {0, 1, 2}})
    EXPECT_DEATH(Distribution::Sparse(3, tokens, masses), "check failed")
        << testing::PrintToString(tokens);
  EXPECT_DEATH(Distribution::OneHot(3, 3), "check failed");
  EXPECT_DEATH(Distribution::OneHot(3, -1), "check failed");
}

TEST(DistributionDeathTest, DiesOfAQuestionAboutATokenOutOfRange) {
  const Distribution dense = Distribution::Dense({0.5, 0.5});
  const Distribution sparse = Distribution::Sparse(2, {1}, {1});
  for (TokenId token : {-1, 2}) {
    EXPECT_DEATH(dense.Mass(token), "check failed") << token;
    EXPECT_DEATH(sparse.Mass(token), "check failed") << token;
    EXPECT_DEATH(dense.Without(token), "check failed") << token;
    EXPECT_DEATH(sparse.Without(token), "check failed") << token;
  }
}

TEST(DistributionDeathTest, DiesWhereMassIsRequiredAndThereIsNone) {
  const Distribution empty = Distribution::OneHot(3, 1).Without(1);
  EXPECT_DEATH(empty.Argmax(), "check failed");
  EXPECT_DEATH(empty.Normalized(), "check failed");
  EXPECT_DEATH(Distribution::Dense({kTiny}).Normalized(), "check failed");
}

TEST(OverlapDeathTest, DiesOfTwoVocabularies) {
  const Distribution two = Distribution::Dense({0.5, 0.5});
  const Distribution three = Distribution::OneHot(3, 1);
  EXPECT_DEATH(Overlap(two, three), "check failed");
  EXPECT_DEATH(Overlap(three, two), "check failed");
}

}  // namespace
}  // namespace banyan
