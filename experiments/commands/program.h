// The program as a function, and the parts that others add to it.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_PROGRAM_H_
#define BANYAN_EXPERIMENTS_COMMANDS_PROGRAM_H_

#include <vector>

#include "drafters/row.h"
#include "experiments/metrics/metric.h"
#include "tree/policies/row.h"
#include "verifiers/row.h"

namespace banyan {

// Parts of a program outside this project: rows that join the catalogues.
//
//   banyan::Parts banyan::OwnParts() {
//     return {.verifiers = {FirstDrawsRow()}};
//   }
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

// The program as a function: one subcommand a run.

// Runs a program's arguments with the parts that the catalogues have. Returns
// the exit status, and prints errors.
int RunCommands(int argc, char** argv);

// The same for main(), with OwnParts() and the errors that the standard library
// throws.
int RunProgram(int argc, char** argv);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_PROGRAM_H_
