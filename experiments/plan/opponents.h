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
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// One drafter of a method, by itself.
struct OneDrafter {
  std::string label;
  // The same for the same drafter, however methods name its models.
  std::string identity;
  std::vector<NamedModel> models;  // those it names
  Params section;
};

// Drafter `number` of a method; `target` is the name of the target's directory.
OneDrafter Alone(const MethodSpec& method, int number,
                 const std::string& target);
// The same of all its drafters.
std::vector<OneDrafter> EachAlone(const MethodSpec& method,
                                  const std::string& target);

// The drafter as it stands in tables of costs, but for the kind of its draws.
CountedDrafter InTables(const OneDrafter& drafter);

// PolicySpec::PutStatedCosts of every policy that leaves nothing to the
// machine, each for its trunk's drafter, or for all of them.
absl::Status PutStatedCosts(CostQuestion question, MethodSpec& method,
                            std::vector<std::string>& notes);

// A method: the drafter with this policy and verifier. Its place is the
// drafter's.
MethodSpec MethodOf(const OneDrafter& drafter, PolicySpec policy,
                    Params verifier);
// The policy that drafts a line of `length` tokens.
PolicySpec ChainPolicy(int length);
// Returns multi_round, by which a drafter's chain is timed and counted. On a
// chain every other lossless verifier but block does the same.
Params ChainVerifier();

// The last part of a path to a directory.
std::string FolderName(const std::string& path);
// What a drafter of this title (DrafterTitle) is called that reads the model of
// this folder: as the folder; one made of drafters by its own name.
std::string DrafterLabel(const std::string& title, const std::string& folder);

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
