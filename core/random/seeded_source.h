// A counter-based source: the choice for a key is a pure function of the seed
// and the key, so the order in which choices are made changes nothing.
#ifndef BANYAN_CORE_RANDOM_SEEDED_SOURCE_H_
#define BANYAN_CORE_RANDOM_SEEDED_SOURCE_H_

#include <cstdint>
#include <optional>

#include "core/base/weights.h"
#include "core/random/random_source.h"

namespace banyan {

// Safe to share between threads.
class SeededSource : public RandomSource {
 public:
  explicit SeededSource(std::uint64_t seed) : seed_(seed) {}

  bool Accept(double probability, const ChoiceKey& key) override;
  int Draw(const Weights& weights, const ChoiceKey& key) override;
  std::optional<std::uint64_t> seed() const override { return seed_; }

  // Returns the key's number in [0, 1): UniformOf (core/base/keyed_uniform.h).
  double Uniform(const ChoiceKey& key) const;

 private:
  std::uint64_t seed_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_RANDOM_SEEDED_SOURCE_H_
