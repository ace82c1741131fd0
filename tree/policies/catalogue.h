// The tree policies, by name.
#ifndef BANYAN_TREE_POLICIES_CATALOGUE_H_
#define BANYAN_TREE_POLICIES_CATALOGUE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/policies/plans.h"
#include "tree/tree_policy.h"

namespace banyan {

struct PolicyRow {
  absl::string_view name;
  absl::string_view sentence;
  // Exactly one of the two; each reads all keys but `name` and `law`. A plan is
  // a shape known before anything is drawn, drafted by FixedShape.
  absl::StatusOr<ShapePlan> (*plan)(ParamsReader& in) = nullptr;
  absl::StatusOr<std::unique_ptr<TreePolicy>> (*build)(ParamsReader& in) =
      nullptr;
  // Small sections, in YAML, that conformance proves. Those with more than four
  // draws are too large for two rounds and come last.
  std::vector<absl::string_view> examples = {};
};

absl::Span<const PolicyRow> PolicyCatalogue();

// What a policy section says: the policy, and the law if it names one. Only
// plans read files (scripts/layers.txt keeps it so).
struct PolicyChoice {
  std::unique_ptr<TreePolicy> policy;
  std::optional<DraftLaw> law;
  std::string file;  // that the plan was read from; empty: none
};
absl::StatusOr<PolicyChoice> BuildPolicy(const Params& section);

// The shape a section describes. An error at the section if its shape depends
// on what is drawn.
absl::StatusOr<ShapePlan> PlanShape(const Params& section);

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_CATALOGUE_H_
