// The format of costs (costs.h): what `banyan measure` writes, and what
// policies, experiments and `banyan report --curve` include.
//
//   machine: AMD EPYC, cpu, AVX2, 2 threads
//   passes:
//     - {target: large, weights: bf16, context: 128, ms: {1: 9.8, 16: 25}}
//   levels:
//     - {target: large, ms: {small: 1.2, ngram: 0.01}}
//   acceptance:
//     - target: large
//       drafters: [small]
//       draws: [independent]
//       rounds: 100
//       counts:
//         - {depth: 1, judged: [100, 40], accepted: [60, 8]}
#ifndef BANYAN_EXPERIMENTS_PLAN_READ_COSTS_H_
#define BANYAN_EXPERIMENTS_PLAN_READ_COSTS_H_

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"

namespace banyan {

// Whether a value has tables of costs, where numbers may stand too.
bool IsCosts(const Params& value);

// Reads tables, or those of a list of included files. Fails, with file, line
// and column, on keys and numbers that cannot be, and on two tables of
// acceptance for one setting and the same drafters.
absl::StatusOr<Costs> ReadCosts(const Params& value);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_READ_COSTS_H_
