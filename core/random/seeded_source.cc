#include "core/random/seeded_source.h"

#include <Random123/philox.h>

#include <cstdint>

#include "core/base/weights.h"
#include "core/random/random_source.h"
#include "core/random/uniform.h"

namespace banyan {

bool SeededSource::Accept(double probability, const ChoiceKey& key) {
  return AcceptWith(Uniform(key), probability);
}

int SeededSource::Draw(const Weights& weights, const ChoiceKey& key) {
  return DrawWith(Uniform(key), weights);
}

double SeededSource::Uniform(const ChoiceKey& key) const {
  using Philox = r123::Philox4x64;
  const auto purpose = static_cast<std::uint64_t>(key.purpose);
  const Philox::ctr_type counter = {
      {(std::uint64_t{key.prompt} << 32) | key.round,
       (std::uint64_t{key.node} << 32) | key.draw,
       (std::uint64_t{key.trunk} << 8) | purpose, 0}};
  const Philox::key_type seed = {{seed_, 0}};
  constexpr int kUnusedBits = 64 - 53;
  return static_cast<double>(Philox()(counter, seed)[0] >> kUnusedBits) *
         0x1p-53;
}

}  // namespace banyan
