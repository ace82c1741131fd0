#include "core/random/seeded_source.h"

#include <cstdint>

#include "core/base/keyed_uniform.h"
#include "core/base/law_math.h"
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
  return UniformOf(seed_,
                   WordsOf(key.prompt, key.round, key.node, key.draw, key.trunk,
                           static_cast<std::uint8_t>(key.purpose)));
}

}  // namespace banyan
