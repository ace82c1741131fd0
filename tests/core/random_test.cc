#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "core/base/draw_math.h"
#include "core/base/number_rows.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"

namespace banyan {
namespace {

const double kBelowOne = std::nextafter(1.0, 0.0);

ChoiceKey KeyOf(std::uint32_t node, std::uint32_t draw = 0) {
  return {.node = node, .draw = draw};
}

// Returns the chi-square statistic of counts against their distribution.
double ChiSquare(const std::vector<int>& counts,
                 const std::vector<double>& law) {
  double total = 0, sum = 0;
  for (int count : counts) total += count;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const double expected = total * law[i];
    if (expected > 0)
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

// What chi-square exceeds with probability 1e-6, by degrees of freedom. The
// seeds are fixed, so a change of generator is the only way to be unlucky.
constexpr double kChiSquare1 = 23.93;
constexpr double kChiSquare5 = 35.89;
constexpr double kChiSquare8 = 42.70;

// ---- SeededSource

// Random123's known answer for Philox4x64-10 with counter 0 and key 0 begins
// with 0x16554d9eca36314c (its file kat_vectors).
TEST(SeededSource, GivesThePublishedPhiloxNumberForTheZeroKey) {
  EXPECT_EQ(SeededSource(0).Uniform({}),
            std::ldexp(0x16554d9eca36314cULL >> 11, -53));
}

// Where the fields stand in the counter: a golden from a separate Philox in
// Python, which was itself held against kat_vectors. Recorded runs rest on it.
TEST(SeededSource, LaysTheKeyOutAsItAlwaysHas) {
  const ChoiceKey key = {.prompt = 1,
                         .round = 2,
                         .node = 3,
                         .draw = 4,
                         .trunk = 5,
                         .purpose = Purpose::kTarget};
  EXPECT_EQ(SeededSource(6).Uniform(key),
            std::ldexp(0x3113cec013e0babbULL >> 11, -53));
}

TEST(SeededSource, DependsOnSeedAndKeyAlone) {
  const SeededSource one(7), two(7);
  std::vector<double> forwards, backwards;
  for (std::uint32_t i = 0; i < 100; ++i)
    forwards.push_back(one.Uniform(KeyOf(i, 3)));
  for (std::uint32_t i = 100; i-- > 0;)
    backwards.insert(backwards.begin(), two.Uniform(KeyOf(i, 3)));
  EXPECT_EQ(forwards, backwards);
}

TEST(SeededSource, DiffersInTheSeedAndInEveryFieldOfTheKey) {
  const ChoiceKey key = {.prompt = 1, .round = 2, .node = 3, .draw = 4};
  std::vector<ChoiceKey> keys(7, key);
  keys[1].prompt = 9;
  keys[2].round = 9;
  keys[3].node = 9;
  keys[4].draw = 9;
  keys[5].trunk = 9;
  keys[6].purpose = Purpose::kTarget;
  std::map<double, int> seen;
  for (std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32, ~0ULL}) {
    const SeededSource source(seed);
    for (const ChoiceKey& k : keys) ++seen[source.Uniform(k)];
  }
  EXPECT_EQ(seen.size(), 28u);
}

// Every bit of every field: a field cut short or laid over another would give
// two keys one number. 153 numbers of 53 bits collide with chance 2e-12.
TEST(SeededSource, DiffersInEveryBitOfTheKey) {
  const SeededSource source(11);
  std::map<double, int> seen;
  ++seen[source.Uniform({})];
  for (int bit = 0; bit < 32; ++bit) {
    const std::uint32_t field = std::uint32_t{1} << bit;
    ++seen[source.Uniform({.prompt = field})];
    ++seen[source.Uniform({.round = field})];
    ++seen[source.Uniform({.node = field})];
    ++seen[source.Uniform({.draw = field})];
    if (bit < 16) {
      const auto half = static_cast<std::uint16_t>(field);
      ++seen[source.Uniform({.trunk = half})];
    }
  }
  for (Purpose p : {Purpose::kOrder, Purpose::kCoin, Purpose::kTarget})
    ++seen[source.Uniform({.purpose = p})];
  EXPECT_EQ(seen.size(), 1u + 4 * 32 + 16 + 3);
}

TEST(SeededSource, StaysInTheHalfOpenUnitInterval) {
  const SeededSource source(5);
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const double u = source.Uniform(KeyOf(i));
    ASSERT_GE(u, 0) << "node " << i;
    ASSERT_LT(u, 1) << "node " << i;
  }
}

TEST(SeededSource, DecidesAsItsUniformNumberDoes) {
  SeededSource source(13);
  const std::vector<double> weights = {1, 0, 2, 5};
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const double u = source.Uniform(KeyOf(i));
    EXPECT_EQ(source.Accept(0.3, KeyOf(i)), AcceptWith(u, 0.3));
    EXPECT_EQ(source.Draw({weights}, KeyOf(i)), DrawWith(u, {weights}));
  }
}

// False-alarm rate 1e-6 each.
TEST(SeededSource, DrawsInProportionToTheWeights) {
  SeededSource source(17);
  const std::vector<double> weights = {1, 2, 0, 3, 4, 8, 2, 7};
  const std::vector<int> left_out = {7};
  const std::vector<double> law = {.05, .1, 0, .15, .2, .4, .1, 0};
  std::vector<int> counts(weights.size());
  for (std::uint32_t i = 0; i < 100'000; ++i)
    ++counts[source.Draw({weights, left_out}, KeyOf(i))];
  EXPECT_EQ(counts[2], 0);
  EXPECT_EQ(counts[7], 0);
  EXPECT_LT(ChiSquare(counts, law), kChiSquare5)
      << testing::PrintToString(counts);
}

TEST(SeededSource, AcceptsWithTheStatedProbability) {
  SeededSource source(19);
  for (double probability : {0.001, 0.3, 0.97}) {
    std::vector<int> counts(2);
    for (std::uint32_t i = 0; i < 100'000; ++i)
      ++counts[source.Accept(probability, {.round = i})];
    EXPECT_LT(ChiSquare(counts, {1 - probability, probability}), kChiSquare1)
        << probability << ": " << testing::PrintToString(counts);
  }
}

TEST(SeededSource, NeighbouringKeysAreIndependent) {
  SeededSource source(23);
  const std::vector<double> thirds = {1, 1, 1};
  std::vector<int> counts(9);
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const int first = source.Draw({thirds}, KeyOf(i, 0));
    ++counts[3 * first + source.Draw({thirds}, KeyOf(i, 1))];
  }
  EXPECT_LT(ChiSquare(counts, std::vector<double>(9, 1.0 / 9)), kChiSquare8)
      << testing::PrintToString(counts);
}

// ---- AcceptWith, DrawWith, ScriptedSource

TEST(AcceptWith, IsHalfOpen) {
  EXPECT_TRUE(AcceptWith(0, std::numeric_limits<double>::denorm_min()));
  EXPECT_FALSE(AcceptWith(0, 0));
  EXPECT_TRUE(AcceptWith(kBelowOne, 1));
  EXPECT_FALSE(AcceptWith(kBelowOne, kBelowOne));
  EXPECT_FALSE(AcceptWith(0.25, 0.25));
  EXPECT_TRUE(AcceptWith(std::nextafter(0.25, 0), 0.25));
}

TEST(DrawWith, MovesToTheNextIndexExactlyAtTheRatio) {
  const std::vector<double> weights = {1, 2, 5};
  EXPECT_EQ(DrawWith(0, {weights}), 0);
  EXPECT_EQ(DrawWith(std::nextafter(1 / 8.0, 0), {weights}), 0);
  EXPECT_EQ(DrawWith(1 / 8.0, {weights}), 1);
  EXPECT_EQ(DrawWith(std::nextafter(3 / 8.0, 0), {weights}), 1);
  EXPECT_EQ(DrawWith(3 / 8.0, {weights}), 2);
  EXPECT_EQ(DrawWith(kBelowOne, {weights}), 2);
}

TEST(DrawWith, CountsTheTotalWithoutWhatIsLeftOut) {
  const std::vector<double> weights = {2, 1, 9, 2};
  const std::vector<int> left_out = {2, 1};
  EXPECT_EQ(DrawWith(std::nextafter(0.5, 0), {weights, left_out}), 0);
  EXPECT_EQ(DrawWith(0.5, {weights, left_out}), 3);
}

// A total found by subtraction would be 0 here, or have lost its digits.
TEST(DrawWith, KeepsTheRatiosOfWhatIsTinyBesideTheLeftOut) {
  const std::vector<int> left_out = {0};
  for (double unit : {1e-12, 1e-20, 1e-300}) {
    const std::vector<double> weights = {1, 1 * unit, 3 * unit};
    EXPECT_EQ(DrawWith(0.2499, {weights, left_out}), 1) << unit;
    EXPECT_EQ(DrawWith(0.2501, {weights, left_out}), 2) << unit;
  }
}

// Every list of five weights that are 0 or w, with every index left out or
// none, at the edges of the tape and between. The scales include sums that
// round and the smallest weight there is.
TEST(DrawWith, NeverGivesAnIndexWithoutWeight) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (double w : {1.0, 0.1, 1 / 3.0, 1e300, 1e-300, tiny}) {
    for (int mask = 1; mask < 32; ++mask) {
      std::vector<double> weights(5);
      for (int i = 0; i < 5; ++i) weights[i] = (mask >> i & 1) * w;
      for (int out = -1; out < 5; ++out) {
        if (out >= 0 && (mask & ~(1 << out)) == 0) continue;
        const std::vector<int> left_out(out >= 0 ? 1 : 0, out);
        for (double u : {0.0, tiny, 0.1, 1 / 3.0, 0.5, 0.9, kBelowOne}) {
          const int index = DrawWith(u, {weights, left_out});
          ASSERT_GE(index, 0);
          ASSERT_LT(index, 5);
          EXPECT_TRUE(weights[index] > 0 && index != out)
              << "u " << u << ", w " << w << ", mask " << mask << ", without "
              << out << " gave " << index;
        }
      }
    }
  }
}

TEST(ScriptedSource, ReadsOneNumberPerChoiceInOrder) {
  const std::vector<double> weights = {1, 1, 2};
  ScriptedSource source({0, kBelowOne, 0.25, 0.25});
  EXPECT_EQ(source.used(), 0u);
  EXPECT_EQ(source.Draw({weights}, {}), 0);
  EXPECT_EQ(source.Draw({weights}, {}), 2);
  EXPECT_FALSE(source.Accept(0.25, {}));
  EXPECT_EQ(source.used(), 3u);
  EXPECT_EQ(source.Draw({weights}, {}), 1);
  EXPECT_EQ(source.used(), 4u);
}

TEST(ScriptedSourceDeathTest, DiesWhenTheTapeIsUsedUp) {
  ScriptedSource source({0.5});
  source.Accept(0.5, {});
  EXPECT_DEATH(source.Accept(0.5, {}), "check failed: .*tape");
}

TEST(ScriptedSourceDeathTest, DiesOfANumberOutsideTheUnitInterval) {
  for (double bad : {1.0, -1e-9, std::nan("")})
    EXPECT_DEATH(ScriptedSource({bad}).Accept(0.5, {}), "check failed") << bad;
}

TEST(RandomSourceDeathTest, DiesWhenNothingCanBeDrawn) {
  const std::vector<double> zero = {0, 0}, one = {0, 3};
  const std::vector<int> left_out = {1};
  EXPECT_DEATH(ScriptedSource({0.5}).Draw({zero}, {}), "check failed");
  EXPECT_DEATH(SeededSource(1).Draw({one, left_out}, {}), "check failed");
  EXPECT_DEATH(EnumeratingSource(9).Draw({one, left_out}, {}), "check failed");
  EXPECT_DEATH(ScriptedSource({0.5}).Draw({}, {}), "check failed");
}

TEST(RandomSourceDeathTest, DiesOfAWeightThatIsNegativeOrNoNumber) {
  for (double bad : {-1.0, std::nan("")}) {
    const std::vector<double> weights = {1, bad};
    EXPECT_DEATH(ScriptedSource({0.1}).Draw({weights}, {}), "check failed");
    EXPECT_DEATH(SeededSource(1).Draw({weights}, {}), "check failed");
    EXPECT_DEATH(EnumeratingSource(9).Draw({weights}, {}), "check failed");
  }
}

// ---- Chance

class RecordingSource : public RandomSource {
 public:
  bool Accept(double, const ChoiceKey& key) override {
    keys.push_back(key);
    return true;
  }
  int Draw(const Weights&, const ChoiceKey& key) override {
    keys.push_back(key);
    return 0;
  }
  std::vector<ChoiceKey> keys;
};

TEST(Chance, NamesEachChoiceByPromptRoundTrunkNodeDrawAndPurpose) {
  RecordingSource source;
  const Chance chance(source, 3, 4);
  const std::vector<double> weights = {1};
  chance.Accept(0.5, 5);
  chance.Accept(0.5, 5, 6);
  chance.Draw({weights}, Purpose::kTarget, 7, 8);
  chance.ForTrunk(2).Draw({weights}, Purpose::kOrder, 7, 8);
  chance.Accept(0.5, 9);
  using Key = ChoiceKey;
  const Purpose coin = Purpose::kCoin;
  EXPECT_EQ(source.keys[0], (Key{3, 4, 5, 0, 0, coin}));
  EXPECT_EQ(source.keys[1], (Key{3, 4, 5, 6, 0, coin}));
  EXPECT_EQ(source.keys[2], (Key{3, 4, 7, 8, 0, Purpose::kTarget}));
  EXPECT_EQ(source.keys[3], (Key{3, 4, 7, 8, 2, Purpose::kOrder}));
  EXPECT_EQ(source.keys[4], (Key{3, 4, 9, 0, 0, coin}));
}

TEST(Chance, SpendsNothingOnCertainty) {
  ScriptedSource source({});
  const Chance chance(source, 0, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  for (double sure : {1.0, 1.5, infinity}) EXPECT_TRUE(chance.Accept(sure, 0));
  for (double never : {0.0, -0.0, -1.5, -infinity})
    EXPECT_FALSE(chance.Accept(never, 0));
  EXPECT_EQ(source.used(), 0u);
}

TEST(Chance, SpendsOneNumberOnAnythingLess) {
  ScriptedSource source({kBelowOne, 0});
  const Chance chance(source, 0, 0);
  EXPECT_FALSE(chance.Accept(kBelowOne, 0));
  EXPECT_TRUE(chance.Accept(1e-300, 1));
  EXPECT_EQ(source.used(), 2u);
}

TEST(ChanceDeathTest, DiesOfNaN) {
  ScriptedSource source({0.5});
  const Chance chance(source, 0, 0);
  EXPECT_DEATH(chance.Accept(std::nan(""), 0), "check failed");
}

TEST(ChanceDeathTest, DiesOfATrunkThatTheKeyCannotHold) {
  ScriptedSource source({});
  const Chance chance(source, 0, 0);
  EXPECT_DEATH(chance.ForTrunk(-1), "check failed");
  EXPECT_DEATH(chance.ForTrunk(1 << 16), "check failed");
}

}  // namespace
}  // namespace banyan
