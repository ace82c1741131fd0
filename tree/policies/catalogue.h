// The tree policies, by name.
#ifndef BANYAN_TREE_POLICIES_CATALOGUE_H_
#define BANYAN_TREE_POLICIES_CATALOGUE_H_

#include <memory>
#include <optional>
#include <string>

#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/policies/row.h"
#include "tree/policies/shape_plan.h"
#include "tree/tree_policy.h"

namespace banyan {

absl::Span<const PolicyRow> PolicyCatalogue();

// Adds parts from outside the project to the catalogue (AppendRows). Call it
// before anything reads the catalogue.
void AddPolicies(absl::Span<const PolicyRow> rows);

// The contents of a policy section: the policy, and the draw kind if the
// section names one. Only plans read files (scripts/layers.txt enforces this).
struct PolicyChoice {
  std::unique_ptr<TreePolicy> policy;
  std::optional<DrawKind> draw_kind;
  std::string file;  // that the plan was read from; empty: none
};
absl::StatusOr<PolicyChoice> BuildPolicy(const Params& section);

// The shape a section describes. An error at the section if its shape depends
// on what is drawn.
absl::StatusOr<ShapePlan> PlanShape(const Params& section);

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_CATALOGUE_H_
