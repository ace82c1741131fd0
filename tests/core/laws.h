// Random distributions for the tests of core/prob, the same on every machine.
#ifndef BANYAN_TESTS_CORE_LAWS_H_
#define BANYAN_TESTS_CORE_LAWS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"

namespace banyan {

// A stream of numbers from a fixed seed.
class LawDice {
 public:
  explicit LawDice(std::uint64_t seed) : source_(seed) {}

  double Uniform() { return source_.Uniform({.node = next_++}); }
  int Below(int n) { return static_cast<int>(Uniform() * n); }

 private:
  SeededSource source_;
  std::uint32_t next_ = 0;
};

enum class LawForm { kDense, kSparse, kOneHot };
inline constexpr LawForm kForms[] = {LawForm::kDense, LawForm::kSparse,
                                     LawForm::kOneHot};

// Masses that sum to `total`, about a third of them 0.
inline std::vector<double> RandomMasses(LawDice& dice, int vocab,
                                        double total) {
  std::vector<double> masses(vocab);
  double sum = 0;
  for (double& mass : masses) {
    if (dice.Below(3) > 0) mass = dice.Uniform();
    sum += mass;
  }
  if (sum == 0) sum = masses[dice.Below(vocab)] = 1;
  for (double& mass : masses) mass *= total / sum;
  return masses;
}

// Returns the distribution of these masses as a sparse row: an entry for every
// token that has mass.
inline Distribution SparseOf(const std::vector<double>& masses) {
  std::vector<TokenId> tokens;
  std::vector<double> entries;
  for (int token = 0; token < static_cast<int>(masses.size()); ++token) {
    if (masses[token] == 0) continue;
    tokens.push_back(token);
    entries.push_back(masses[token]);
  }
  return Distribution::Sparse(static_cast<int>(masses.size()),
                              std::move(tokens), std::move(entries));
}

// Returns a random distribution. A one-hot one has total 1 whatever `total` is.
inline Distribution RandomLaw(LawDice& dice, LawForm form, int vocab,
                              double total = 1) {
  if (form == LawForm::kOneHot)
    return Distribution::OneHot(vocab, dice.Below(vocab));
  std::vector<double> masses = RandomMasses(dice, vocab, total);
  if (form == LawForm::kSparse) return SparseOf(masses);
  return Distribution::Dense(std::move(masses));
}

// Every token's mass, each asked for by itself.
inline std::vector<double> MassesOf(const Distribution& law) {
  std::vector<double> masses(law.vocab_size());
  for (int token = 0; token < law.vocab_size(); ++token)
    masses[token] = law.Mass(token);
  return masses;
}

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_LAWS_H_
