#include "core/random/scripted_source.h"

#include "core/base/check.h"
#include "core/base/law_math.h"
#include "core/base/weights.h"
#include "core/random/random_source.h"
#include "core/random/uniform.h"

namespace banyan {

bool ScriptedSource::Accept(double probability, const ChoiceKey& /*key*/) {
  return AcceptWith(Next(), probability);
}

int ScriptedSource::Draw(const Weights& weights, const ChoiceKey& /*key*/) {
  return DrawWith(Next(), weights);
}

double ScriptedSource::Next() {
  Check(next_ < tape_.size(), "the tape of the scripted source is used up");
  const double u = tape_[next_++];
  Check(u >= 0 && u < 1, "a number of the tape lies outside [0, 1)");
  return u;
}

}  // namespace banyan
