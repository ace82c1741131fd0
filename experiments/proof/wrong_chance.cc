#include "experiments/proof/wrong_chance.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

#include "core/base/weights.h"
#include "core/random/random_source.h"

namespace banyan {
namespace {

class StaleSource : public RandomSource {
 public:
  explicit StaleSource(RandomSource& honest) : honest_(honest) {}

  bool Accept(double probability, const ChoiceKey& key) override {
    const auto known = choices_.find(First(key));
    if (known != choices_.end()) return known->second == 1;
    const bool accepted = honest_.Accept(probability, key);
    choices_[First(key)] = accepted ? 1 : 0;
    return accepted;
  }

  int Draw(const Weights& weights, const ChoiceKey& key) override {
    const auto known = choices_.find(First(key));
    if (known != choices_.end() &&
        static_cast<std::size_t>(known->second) < weights.values.size() &&
        weights.values[static_cast<std::size_t>(known->second)] > 0)
      return known->second;
    const int index = honest_.Draw(weights, key);
    choices_[First(key)] = index;
    return index;
  }

 private:
  static ChoiceKey First(ChoiceKey key) {
    key.round = 0;
    return key;
  }

  RandomSource& honest_;
  std::map<ChoiceKey, int> choices_;
};

class OneCoin : public RandomSource {
 public:
  explicit OneCoin(RandomSource& honest) : honest_(honest) {}

  // A coin that was at least r before is below p with (p - r) / (1 - r).
  bool Accept(double probability, const ChoiceKey& key) override {
    ChoiceKey node = key;
    node.draw = 0;
    double& refused = refused_[node];
    const double left = (probability - refused) / (1 - refused);
    const bool accepted = left > 0 && honest_.Accept(left, key);
    if (!accepted) refused = std::max(refused, probability);
    return accepted;
  }

  int Draw(const Weights& weights, const ChoiceKey& key) override {
    return honest_.Draw(weights, key);
  }

 private:
  RandomSource& honest_;
  std::map<ChoiceKey, double> refused_;
};

}  // namespace

std::unique_ptr<RandomSource> SameEveryRound(RandomSource& honest) {
  return std::make_unique<StaleSource>(honest);
}

std::unique_ptr<RandomSource> OneCoinANode(RandomSource& honest) {
  return std::make_unique<OneCoin>(honest);
}

}  // namespace banyan
