// One drafter of a method, by itself.
#ifndef BANYAN_EXPERIMENTS_PLAN_ONE_DRAFTER_H_
#define BANYAN_EXPERIMENTS_PLAN_ONE_DRAFTER_H_

#include <string>

#include "core/base/params.h"

namespace banyan {

struct OneDrafter {
  std::string label;
  // The same for the same drafter, however methods name its models.
  std::string identity;
  Params models;  // those it names
  Params section;
};

// `drafter` of a method's section; `target` is the name of the target's
// directory.
OneDrafter Alone(const Params& method, const Params& drafter,
                 const std::string& target);

// A method: the drafter with this policy and verifier. Its place is the
// drafter's.
Params MethodOf(const OneDrafter& drafter, const Params& policy,
                const Params& verifier);
// The policy `chain` of this length.
Params ChainPolicy(int length);
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
