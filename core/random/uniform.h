// How a uniform number u in [0, 1) decides a draw; a coin is AcceptWith
// (core/base/law_math.h). Shared by the sources that have one, so that a tape
// and a seed mean the same thing.
#ifndef BANYAN_CORE_RANDOM_UNIFORM_H_
#define BANYAN_CORE_RANDOM_UNIFORM_H_

#include "core/base/weights.h"

namespace banyan {

// The index at which the running sum of weights first exceeds u times their
// total. Never an index of weight 0. Requires a positive total.
int DrawWith(double u, const Weights& weights);

}  // namespace banyan

#endif  // BANYAN_CORE_RANDOM_UNIFORM_H_
