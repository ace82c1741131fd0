// How a uniform number u in [0, 1) decides a choice. Shared by the sources that
// have one, so that a tape and a seed mean the same thing.
#ifndef BANYAN_CORE_RANDOM_UNIFORM_H_
#define BANYAN_CORE_RANDOM_UNIFORM_H_

#include "core/base/weights.h"

namespace banyan {

// Half-open on both sides: u = 0 accepts any positive probability, and no u
// below 1 is refused by probability 1.
inline bool AcceptWith(double u, double probability) { return u < probability; }

// The index at which the running sum of weights first exceeds u times their
// total. Never an index of weight 0. Requires a positive total.
int DrawWith(double u, const Weights& weights);

}  // namespace banyan

#endif  // BANYAN_CORE_RANDOM_UNIFORM_H_
