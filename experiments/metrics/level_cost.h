// Cost of one draft level.
#ifndef BANYAN_EXPERIMENTS_METRICS_LEVEL_COST_H_
#define BANYAN_EXPERIMENTS_METRICS_LEVEL_COST_H_

namespace banyan {

// Returns the cost of one level of a round, without the target pass: `draft`
// divided by `levels`, plus `around` (deriving, verifying, committing) divided
// by levels + 1, since the root is a level there too. Requires levels >= 1.
inline double CostOfLevel(double draft, double around, int levels) {
  return draft / levels + around / (levels + 1);
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_LEVEL_COST_H_
