// One drafter of a method, by itself.
#ifndef BANYAN_EXPERIMENTS_PLAN_ONE_DRAFTER_H_
#define BANYAN_EXPERIMENTS_PLAN_ONE_DRAFTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/policy_spec.h"

namespace banyan {

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
// machine. The question's drafter is each trunk's own.
absl::Status PutStatedCosts(CostQuestion question, MethodSpec& method,
                            std::vector<std::string>& notes);

// A method: the drafter with this policy and verifier. Its place is the
// drafter's.
MethodSpec MethodOf(const OneDrafter& drafter, PolicySpec policy,
                    Params verifier);
// The policy that drafts a line of `length` tokens.
PolicySpec ChainPolicy(int length);
// multi_round. On a chain every other lossless verifier but block does the
// same.
Params ChainVerifier();

// The last part of a path to a directory.
std::string FolderName(const std::string& path);
// What a drafter of this title (DrafterTitle) is called that reads the model of
// this folder: as the folder; one made of drafters by its own name.
std::string DrafterLabel(const std::string& title, const std::string& folder);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_ONE_DRAFTER_H_
