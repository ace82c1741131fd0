// What a drafted level costs.
#ifndef BANYAN_EXPERIMENTS_METRICS_LEVEL_COST_H_
#define BANYAN_EXPERIMENTS_METRICS_LEVEL_COST_H_

namespace banyan {

// Of a round with so many levels, beside the target's pass: drafting, and a
// share of what else the round took (deriving, verifying, committing), the
// root's level counted there. Requires levels.
inline double CostOfLevel(double draft, double around, int levels) {
  return draft / levels + around / (levels + 1);
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_LEVEL_COST_H_
