// Method: trunks and a verifier that were checked to be compatible.
#ifndef BANYAN_DECODE_METHOD_H_
#define BANYAN_DECODE_METHOD_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "decode/host_cause.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {

// The policy is what every sequence clones; it is not used itself.
struct Trunk {
  std::string drafter_name;
  std::string policy_name;
  std::unique_ptr<Drafter> drafter;
  std::unique_ptr<TreePolicy> policy;
  DrawKind draw_kind = DrawKind::kIndependent;
};

// How the target's pass has the rows of a tree. Nothing but the number of rows
// differs, and what follows from that: time.
enum class Scoring {
  kMerged,    // a row a node
  kUnmerged,  // each path from the root to a leaf by itself (tree/pass_rows.h);
              // such rounds are the host's, also where a device has its own
};

// "merged", "unmerged".
absl::string_view Name(Scoring scoring);

struct Method {
  std::string verifier_name;
  std::unique_ptr<Verifier> verifier;
  std::vector<Trunk> trunks;  // none: plain decoding
  SamplingRule rule;
  Scoring scoring = Scoring::kMerged;
  RoundsOn rounds = RoundsOn::kAuto;
};

// Returns a trunk of a drafter and a policy section. Its draw kind is the
// section's `draws`, or else the preferred one.
absl::StatusOr<Trunk> MakeTrunk(const std::string& drafter_name,
                                std::unique_ptr<Drafter> drafter,
                                const Params& policy, const Method& method);

// Returns the first draw kind, in the verifier's order of preference, that both
// drafter and policy can give; an error naming all three if there is none. At
// temperature 0 ranked candidates come first: the draft distribution has one
// token there, and a second draw would be that token again.
absl::StatusOr<DrawKind> PreferredLaw(const Trunk& trunk, const Method& method);

// OK, or a refusal: which two components do not go together and why. Refusals,
// PreferredLaw's among them, have the code FailedPrecondition, which nothing
// else has that builds a method.
absl::Status CheckMethod(const Method& method);

// Returns whether the output distribution is the target's as `rule` makes it.
bool IsLossless(const Method& method);

}  // namespace banyan

#endif  // BANYAN_DECODE_METHOD_H_
