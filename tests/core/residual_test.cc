#include "core/prob/residual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/number_rows.h"
#include "core/prob/distribution.h"
#include "tests/core/laws.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

std::vector<double> MassesOf(const Residual& residual, int vocab) {
  std::vector<double> masses(vocab);
  for (int token = 0; token < vocab; ++token)
    masses[token] = residual.Mass(token);
  return masses;
}

// The rule written out on plain vectors, and how far rounding may have taken
// the residual from it.
//
// Let E bound the sum of |error| over the tokens. A term of pos(a cur - q)
// errs by that token's share of E and three roundings of numbers that sum to
// at most 2, the sum over V terms by V more. Both the terms and the divisor S
// carry the error, so the new E is twice it over S, and a rounding.
class Oracle {
 public:
  explicit Oracle(const std::vector<double>& p)
      : cur_(p.begin(), p.end()), error_((p.size() + 1) * kEpsilon) {}

  double Mass(int token) const { return static_cast<double>(cur_[token]); }
  double error() const { return static_cast<double>(error_); }

  double Excess(const std::vector<double>& q, double a) const {
    long double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) sum += Left(i, q, a);
    return static_cast<double>(sum);
  }
  // How far a sum before normalising may be off.
  double SumError() const {
    return static_cast<double>(error_ + (6 + cur_.size()) * kEpsilon);
  }
  void Subtract(const std::vector<double>& q, double a) {
    const double sum = Excess(q, a);
    if (sum == 0) return;
    error_ = 2 * SumError() / sum + kEpsilon;
    for (std::size_t i = 0; i < q.size(); ++i) cur_[i] = Left(i, q, a) / sum;
  }

 private:
  long double Left(std::size_t i, const std::vector<double>& q,
                   double a) const {
    return std::max<long double>(a * cur_[i] - q[i], 0);
  }

  std::vector<long double> cur_;
  long double error_;
};

// Invariants of every residual: its masses are a distribution, and its weights
// can be drawn from and have the same ratios.
void ExpectIsALaw(const Residual& residual, int vocab) {
  double total = 0;
  for (int token = 0; token < vocab; ++token) {
    const double mass = residual.Mass(token);
    ASSERT_TRUE(mass >= 0 && std::isfinite(mass)) << token << ": " << mass;
    total += mass;
  }
  EXPECT_NEAR(total, 1, 1e-9);
  const Weights weights = residual.weights();
  std::vector<double> values(weights.values.begin(), weights.values.end());
  for (int index : weights.left_out) values[index] = 0;
  double sum = 0;
  for (double value : values) {
    ASSERT_TRUE(value >= 0 && std::isfinite(value)) << value;
    sum += value;
  }
  ASSERT_GT(sum, 0) << "nothing can be drawn";
  for (int i = 0; i < static_cast<int>(values.size()); ++i)
    EXPECT_NEAR(values[i] / sum, residual.Mass(residual.TokenAt(i)), 1e-9);
}

void ExpectNear(const Residual& residual, const Oracle& oracle, int vocab) {
  for (int token = 0; token < vocab; ++token)
    ASSERT_NEAR(residual.Mass(token), oracle.Mass(token), oracle.error())
        << "token " << token;
}

// Returns a q as a verifier gets it: a whole distribution, a part of one, or
// one without the tokens drawn before.
Distribution RandomProposal(LawDice& dice, LawForm form, int vocab) {
  Distribution q =
      RandomLaw(dice, form, vocab, dice.Below(2) == 0 ? 1 : dice.Uniform());
  for (int i = dice.Below(3); i > 0; --i) q = q.Without(dice.Below(vocab));
  return q;
}

struct Forms {
  LawForm p, q;
};

class EveryForm : public testing::TestWithParam<Forms> {};

TEST_P(EveryForm, FollowsTheRuleOverSeveralRefusals) {
  const auto [p_form, q_form] = GetParam();
  LawDice dice(100 + 3 * static_cast<int>(p_form) + static_cast<int>(q_form));
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(absl::StrCat("case ", i));
    const int vocab = 1 + dice.Below(i % 100 == 0 ? 300 : 8);
    const Distribution p = RandomLaw(dice, p_form, vocab);
    Residual residual(p);
    Oracle oracle(banyan::MassesOf(p));
    ExpectNear(residual, oracle, vocab);
    for (int refusal = 0; refusal < 4; ++refusal) {
      const Distribution q = RandomProposal(dice, q_form, vocab);
      const double a = dice.Below(2) == 0 ? 1 : 1 - dice.Uniform();
      const std::vector<double> masses = banyan::MassesOf(q);
      const std::vector<double> before = MassesOf(residual, vocab);
      const double sum = oracle.Excess(masses, a), error = oracle.SumError();
      EXPECT_NEAR(residual.Excess(q, a), sum, error);
      EXPECT_EQ(MassesOf(residual, vocab), before) << "Excess changed it";
      const double got = residual.Subtract(q, a);
      EXPECT_NEAR(got, sum, error);
      if (got == 0) {
        EXPECT_EQ(MassesOf(residual, vocab), before);
      }
      ExpectIsALaw(residual, vocab);
      // Rounding may decide whether anything is left.
      if (sum != 0 && sum < 1e6 * error) break;
      if (got == 0) continue;
      oracle.Subtract(masses, a);
      ExpectNear(residual, oracle, vocab);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000) << "too few cases leave anything";
}

std::string FormsName(const testing::TestParamInfo<Forms>& info) {
  constexpr const char* kNames[] = {"Dense", "Sparse", "OneHot"};
  return absl::StrCat(kNames[static_cast<int>(info.param.p)], "P",
                      kNames[static_cast<int>(info.param.q)], "Q");
}

std::vector<Forms> AllForms() {
  std::vector<Forms> all;
  for (LawForm p : kForms)
    for (LawForm q : kForms) all.push_back({p, q});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Residual, EveryForm, testing::ValuesIn(AllForms()),
                         FormsName);

// The dyadic masses below make every step exact.
std::vector<Distribution> BothForms(const std::vector<double>& masses) {
  return {Distribution::Dense(masses), SparseOf(masses)};
}

TEST(Residual, StartsAsTheTargetLawWithoutCopyingItsRow) {
  for (const Distribution& p : BothForms({0.5, 0, 0.375, 0.125})) {
    const Residual residual(p);
    EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0.5, 0, 0.375, 0.125));
    EXPECT_EQ(residual.weights().values.data(), p.masses().data());
  }
}

TEST(Residual, StartsFromATargetLawWithTokensLeftOut) {
  for (const Distribution& p : BothForms({0.5, 0.25, 0.125, 0.125})) {
    Residual residual(p.Without(0));
    EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0, 0.5, 0.25, 0.25));
    ExpectIsALaw(residual, 4);
    EXPECT_EQ(residual.Subtract(Distribution::Dense({0.5, 0.25, 0.25, 0})),
              0.5);
    EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0, 0.5, 0, 0.5));
    ExpectIsALaw(residual, 4);
  }
}

TEST(Residual, TakesOffTheProposalAndNormalises) {
  for (const Distribution& p : BothForms({0.5, 0.25, 0.25, 0})) {
    for (const Distribution& q : BothForms({0.25, 0.5, 0, 0.25})) {
      Residual residual(p);
      EXPECT_EQ(residual.Excess(q), 0.5);
      EXPECT_EQ(residual.Subtract(q), 0.5);
      EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0.5, 0, 0.5, 0));
    }
  }
}

TEST(Residual, ScalesTheCurrentLawByAFirst) {
  for (const Distribution& p : BothForms({0.5, 0.25, 0.25})) {
    for (const Distribution& q : BothForms({0.125, 0.25, 0})) {
      Residual residual(p);
      EXPECT_EQ(residual.Excess(q, 0.5), 0.25);
      EXPECT_EQ(residual.Subtract(q, 0.5), 0.25);
      EXPECT_THAT(MassesOf(residual, 3), ElementsAre(0.5, 0, 0.5));
    }
  }
}

TEST(Residual, SubtractsTheLeftOutLawAndNotItsStoredRow) {
  for (const Distribution& p : BothForms({0.5, 0.25, 0.25})) {
    for (const Distribution& q : BothForms({0.5, 0.25, 0.25})) {
      Residual residual(p);
      EXPECT_EQ(residual.Subtract(q.Without(0)), 0.5);
      EXPECT_THAT(MassesOf(residual, 3), ElementsAre(1, 0, 0));
    }
  }
}

// a - 524288 - q(1) would lose the last digit of q(1), which is odd.
TEST(Residual, KeepsItsDigitsUnderALargeFactor) {
  const double left = 9001 * std::exp2(-34);
  const Residual residual(Distribution::Dense({0.5, 0.5}));
  const auto q = Distribution::Sparse(2, {0, 1}, {524288, 524288 - left});
  EXPECT_EQ(residual.Excess(q, 1048576), left);
}

// A shortened vector still holds its old entries after its end.
TEST(Residual, ReadsASparseRowNoFurtherThanItsEnd) {
  std::vector<TokenId> tokens = {0, 1, 2};
  std::vector<double> masses = {0.5, 0.5, 9};
  tokens.pop_back();
  masses.pop_back();
  const Residual residual(
      Distribution::Sparse(3, std::move(tokens), std::move(masses)));
  EXPECT_EQ(residual.Excess(Distribution::Dense({0.25, 0.5, 0.25})), 0.25);
}

TEST(Residual, LeavesTheLawAloneWhenNothingIsLeft) {
  const std::vector<double> masses = {0.5, 0.25, 0, 0.25};
  for (const Distribution& p : BothForms(masses)) {
    for (const Distribution& q : BothForms(masses)) {
      Residual residual(p);
      EXPECT_EQ(residual.Excess(q), 0);
      EXPECT_EQ(residual.Subtract(q), 0);
      EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0.5, 0.25, 0, 0.25));
      EXPECT_EQ(residual.Subtract(q, 0.5), 0);
      ExpectIsALaw(residual, 4);
      const Distribution half = Distribution::OneHot(4, 0);
      EXPECT_EQ(residual.Subtract(half), 0.5);
      EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0, 0.5, 0, 0.5));
    }
  }
}

TEST(Residual, IsUntouchedByAProposalElsewhere) {
  for (const Distribution& p : BothForms({0.5, 0, 0.5, 0})) {
    for (const Distribution& q : BothForms({0, 0.5, 0, 0.5})) {
      Residual residual(p);
      EXPECT_EQ(residual.Subtract(q), 1);
      EXPECT_EQ(residual.Subtract(q, 0.25), 0.25);
      EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0.5, 0, 0.5, 0));
    }
    Residual residual(p);
    EXPECT_EQ(residual.Subtract(Distribution::Sparse(4, {}, {})), 1);
    EXPECT_THAT(MassesOf(residual, 4), ElementsAre(0.5, 0, 0.5, 0));
  }
}

// ---- Extreme masses

TEST(Residual, KeepsTheLastUnitOfMass) {
  const double last = 0x1p-53;
  for (const Distribution& p : BothForms({1 - last, last})) {
    for (const Distribution& q : BothForms({1 - last, 0})) {
      Residual residual(p);
      EXPECT_EQ(residual.Subtract(q), last);
      EXPECT_THAT(MassesOf(residual, 2), ElementsAre(0, 1));
    }
  }
}

TEST(Residual, KeepsWhatIsFarBelowOne) {
  for (double tiny : {1e-17, 1e-300}) {
    for (const Distribution& p : BothForms({tiny, 1, 3 * tiny})) {
      for (const Distribution& q : BothForms({0, 1, 0})) {
        Residual residual(p);
        EXPECT_NEAR(residual.Excess(q), 4 * tiny, 1e-12 * tiny);
        EXPECT_NEAR(residual.Subtract(q), 4 * tiny, 1e-12 * tiny);
        EXPECT_NEAR(residual.Mass(0), 0.25, 1e-12);
        EXPECT_NEAR(residual.Mass(2), 0.75, 1e-12);
        EXPECT_EQ(residual.Mass(1), 0);
      }
    }
  }
}

TEST(Residual, SurvivesATinyFactor) {
  for (const Distribution& p : BothForms({0.5, 0.25, 0.25})) {
    for (const Distribution& q : BothForms({1, 0, 0})) {
      Residual residual(p);
      EXPECT_NEAR(residual.Subtract(q, 1e-300), 5e-301, 1e-312);
      EXPECT_EQ(residual.Mass(0), 0);
      EXPECT_NEAR(residual.Mass(1), 0.5, 1e-12);
      EXPECT_NEAR(residual.Mass(2), 0.5, 1e-12);
    }
  }
}

// 1 / 1e-310 overflows: so little counts as nothing left.
TEST(Residual, TakesMassWithoutAReciprocalForNothing) {
  for (double tiny : {1e-310, std::numeric_limits<double>::denorm_min()}) {
    for (const Distribution& p : BothForms({tiny, 1, tiny})) {
      for (const Distribution& q : BothForms({0, 1, 0})) {
        Residual residual(p);
        EXPECT_EQ(residual.Excess(q), 0);
        EXPECT_EQ(residual.Subtract(q), 0);
        EXPECT_EQ(residual.Mass(1), 1);
        ExpectIsALaw(residual, 3);
      }
    }
  }
}

// The proposal is the target distribution in another form and with other
// roundings: the rest is rounding, or nothing, and must still be a
// distribution.
TEST(Residual, IsALawAfterAProposalThatEqualsTheTargetButForRounding) {
  LawDice dice(7);
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(absl::StrCat("case ", i));
    const int vocab = 2 + dice.Below(12);
    const std::vector<double> masses = RandomMasses(dice, vocab, 1);
    std::vector<double> near = masses;
    if (i % 2 == 0)
      for (double& mass : near) mass *= 1 + kEpsilon * (dice.Below(3) - 1);
    const std::vector<Distribution> ps = BothForms(masses),
                                    qs = BothForms(near);
    Residual residual(ps[dice.Below(2)]);
    for (int refusal = 0; refusal < 3; ++refusal) {
      residual.Subtract(qs[dice.Below(2)]);
      ExpectIsALaw(residual, vocab);
    }
  }
}

// Masses over 320 decades, below the smallest normal number too.
TEST(Residual, IsALawAfterProposalsOverManyDecades) {
  LawDice dice(8);
  auto Law = [&dice](int vocab, bool dense) {
    std::vector<double> masses(vocab);
    for (double& mass : masses)
      if (dice.Below(3) > 0) mass = std::pow(10, -323 * dice.Uniform());
    masses[dice.Below(vocab)] = 1;
    double total = 0;
    for (double mass : masses) total += mass;
    for (double& mass : masses) mass /= total;
    return dense ? Distribution::Dense(masses) : SparseOf(masses);
  };
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(absl::StrCat("case ", i));
    const int vocab = 1 + dice.Below(8);
    Residual residual(Law(vocab, dice.Below(2) == 0));
    for (int refusal = 0; refusal < 4; ++refusal) {
      const Distribution q = Law(vocab, dice.Below(2) == 0);
      const double a = std::pow(10, -300 * dice.Uniform() * dice.Below(2));
      const double sum = residual.Subtract(q, a);
      ASSERT_TRUE(sum >= 0 && sum <= a * (1 + 1e-12)) << sum;
      ExpectIsALaw(residual, vocab);
    }
  }
}

// ---- Cost

// A sparse refusal touches its own entries and no others.
TEST(Residual, LeavesTheStoredWeightsOfOtherTokensAlone) {
  LawDice dice(9);
  const int vocab = 1000;
  Residual residual(Distribution::Dense(RandomMasses(dice, vocab, 1)));
  for (int refusal = 0; refusal < 50; ++refusal) {
    std::vector<double> stored(residual.weights().values.begin(),
                               residual.weights().values.end());
    const int token = dice.Below(vocab);
    residual.Subtract(
        Distribution::Sparse(vocab, {token}, {residual.Mass(token) / 2}));
    stored[token] = residual.weights().values[token];
    EXPECT_THAT(residual.weights().values, ElementsAreArray(stored));
  }
}

// Halves the mass of three tokens a thousand times. The normaliser is carried
// from refusal to refusal, some roundings each: 1e-12 relative.
TEST(Residual, StaysExactOverAThousandSparseRefusalsOfALargeRow) {
  LawDice dice(10);
  const int vocab = 1 << 17;
  const Distribution p = Distribution::Dense(RandomMasses(dice, vocab, 1));
  Residual residual(p);
  std::vector<double> expected = banyan::MassesOf(p);
  for (int refusal = 0; refusal < 1000; ++refusal) {
    const int first = dice.Below(vocab - 2);
    std::vector<double> half;
    for (int token = first; token < first + 3; ++token) {
      half.push_back(residual.Mass(token) / 2);
      expected[token] /= 2;
    }
    residual.Subtract(
        Distribution::Sparse(vocab, {first, first + 1, first + 2}, half));
  }
  long double total = 0;
  for (double mass : expected) total += mass;
  for (int token = 0; token < vocab; ++token) {
    const double mass = static_cast<double>(expected[token] / total);
    ASSERT_NEAR(residual.Mass(token), mass, 1e-12 * mass) << token;
  }
}

// Refuses the largest token again and again, as a greedy drafter would, until
// one of 400 is left, whose mass was 1e-40 of the whole.
TEST(Residual, RefusesOneTokenAfterTheOtherDownToTheLast) {
  std::vector<double> masses(400);
  double total = 0;
  for (int i = 0; i < 400; ++i) total += masses[i] = std::pow(10.0, -i / 10.0);
  for (double& mass : masses) mass /= total;
  for (const Distribution& p : BothForms(masses)) {
    Residual residual(p);
    double rest = 1;  // of p, after the tokens refused
    for (int token = 0; token < 399; ++token) {
      double next = 0;
      for (int i = 399; i > token; --i) next += masses[i];
      const double sum = residual.Subtract(Distribution::OneHot(400, token));
      ASSERT_NEAR(sum, next / rest, 1e-11) << token;
      ASSERT_NEAR(residual.Mass(token + 1), masses[token + 1] / next, 1e-11)
          << token;
      rest = next;
    }
    EXPECT_NEAR(residual.Mass(399), 1, 1e-11);
  }
}

TEST(ResidualDeathTest, DiesOfATargetLawWithoutMass) {
  EXPECT_DEATH(Residual(Distribution::Dense({0, 0})), "check failed");
}

TEST(ResidualDeathTest, DiesOfAFactorThatIsNegativeOrNotFinite) {
  const Residual residual(Distribution::Dense({0.5, 0.5}));
  for (double bad : {-0.5, std::nan(""), HUGE_VAL})
    EXPECT_DEATH(residual.Excess(Distribution::OneHot(2, 0), bad),
                 "check failed")
        << bad;
}

TEST(ResidualDeathTest, DiesOfTwoVocabularies) {
  Residual residual(Distribution::Dense({0.5, 0.5}));
  EXPECT_DEATH(residual.Subtract(Distribution::OneHot(3, 0)), "check failed");
  EXPECT_DEATH(residual.Excess(Distribution::Dense({0.5, 0.25, 0.25})),
               "check failed");
}

}  // namespace
}  // namespace banyan
