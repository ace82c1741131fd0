// Parts of a program outside this project: rows that join the catalogues.
//
//   banyan::Parts banyan::OwnParts() {
//     return {.verifiers = {FirstDrawsRow()}};
//   }
#ifndef BANYAN_EXPERIMENTS_COMMANDS_PARTS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_PARTS_H_

#include <vector>

#include "drafters/row.h"
#include "experiments/metrics/metric.h"
#include "tree/policies/row.h"
#include "verifiers/row.h"

namespace banyan {

struct Parts {
  std::vector<DrafterRow> drafters;
  std::vector<PolicyRow> policies;
  std::vector<VerifierRow> verifiers;
  std::vector<MetricRow> metrics;
};

// Defined by each program: the parts that it adds. The program `banyan` has
// none (experiments/own_parts.cc); CMake's banyan_program() takes yours.
Parts OwnParts();

// Adds OwnParts() to the catalogues and returns them. The first call of main().
Parts AddOwnParts();

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_PARTS_H_
