#include "core/random/random_source.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/check.h"
#include "core/base/weights.h"

namespace banyan {

Chance Chance::ForTrunk(int trunk) const {
  Check(trunk >= 0 && trunk <= std::numeric_limits<std::uint16_t>::max(),
        "a trunk's number does not fit the key");
  Chance result = *this;
  result.key_.trunk = static_cast<std::uint16_t>(trunk);
  return result;
}

bool Chance::Accept(double probability, int node, int draw) const {
  Check(!std::isnan(probability), "acceptance probability is NaN");
  if (probability >= 1) return true;
  if (probability <= 0) return false;
  return source_.Accept(probability, Key(Purpose::kCoin, node, draw));
}

int Chance::Draw(const Weights& weights, Purpose purpose, int node,
                 int draw) const {
  return source_.Draw(weights, Key(purpose, node, draw));
}

ChoiceKey Chance::Key(Purpose purpose, int node, int draw) const {
  ChoiceKey key = key_;
  key.node = static_cast<std::uint32_t>(node);
  key.draw = static_cast<std::uint32_t>(draw);
  key.purpose = purpose;
  return key;
}

}  // namespace banyan
