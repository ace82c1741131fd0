// Writes costs in the format that read_costs.h reads.
#ifndef BANYAN_EXPERIMENTS_PLAN_WRITE_COSTS_H_
#define BANYAN_EXPERIMENTS_PLAN_WRITE_COSTS_H_

#include <string>

#include "experiments/plan/costs.h"

namespace banyan {

// Returns what ReadCosts reads, but for `rates`. `from` stands once, at the
// head, for all tables that come from there.
std::string ToYaml(const Costs& costs, const Provenance& from);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_WRITE_COSTS_H_
