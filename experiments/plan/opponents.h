// What an experiment compares, and the opponents that it owes its trees.
//
// `compare` in an experiment's file names a reference and rivals. With
// `chains`, the lengths at which each drafter's chain was fastest on other
// prompts (`banyan measure` writes them), every rival that is no chain itself
// stands beside chains of its own drafters, one trunk's each: of as many nodes
// as it drafts, and of that length. Without them a tree over a good drafter
// would be compared with a chain of a worse one. They are cells like any other;
// equal ones are one.
#ifndef BANYAN_EXPERIMENTS_PLAN_OPPONENTS_H_
#define BANYAN_EXPERIMENTS_PLAN_OPPONENTS_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/plan/compare.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/one_drafter.h"

namespace banyan {

// The best length of the chain of a cell's drafter; none if it is not known.
using ChainFinder =
    absl::FunctionRef<absl::StatusOr<std::optional<ChainLength>>(
        const ExperimentCell& cell, const OneDrafter& drafter)>;

// Requires `compare`. Adds the cells of opponents, and each
// rival's opponents. What `chains` do not know is a note of the experiment.
// Fails as a policy's section does.
absl::Status AddOpponents(Experiment& experiment);
// The same with predicted lengths, and their neighbours if they are wanted: one
// less and one more, from 8 on half and double.
absl::Status AddOpponents(ChainFinder find, Experiment& experiment);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_OPPONENTS_H_
