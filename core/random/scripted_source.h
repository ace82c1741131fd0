// ScriptedSource: reads its uniform numbers from a tape, in the order of the
// choices. Tests use it for goldens, for device counterparts, and for the edges
// 0 and just below 1.
#ifndef BANYAN_CORE_RANDOM_SCRIPTED_SOURCE_H_
#define BANYAN_CORE_RANDOM_SCRIPTED_SOURCE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/weights.h"
#include "core/random/random_source.h"

namespace banyan {

class ScriptedSource : public RandomSource {
 public:
  // Every number lies in [0, 1). Reading past the end ends the program.
  explicit ScriptedSource(std::vector<double> tape) : tape_(std::move(tape)) {}

  bool Accept(double probability, const ChoiceKey& key) override;
  int Draw(const Weights& weights, const ChoiceKey& key) override;

  // How many numbers were read.
  std::size_t used() const { return next_; }

 private:
  double Next();

  std::vector<double> tape_;
  std::size_t next_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_RANDOM_SCRIPTED_SOURCE_H_
