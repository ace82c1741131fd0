// PolicyRow: a tree policy's entry in the catalogue, defined beside its code.
#ifndef BANYAN_TREE_POLICIES_ROW_H_
#define BANYAN_TREE_POLICIES_ROW_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"
#include "tree/policies/shape_plan.h"
#include "tree/tree_policy.h"

namespace banyan {

struct PolicyRow {
  absl::string_view name;
  absl::string_view sentence;
  // Exactly one of `plan` and `build` is set; it reads all keys but `name` and
  // `law`. A plan is a shape known before anything is drawn, drafted by
  // FixedShape.
  absl::StatusOr<ShapePlan> (*plan)(ParamsReader& in) = nullptr;
  absl::StatusOr<std::unique_ptr<TreePolicy>> (*build)(ParamsReader& in) =
      nullptr;
  // Small sections, in YAML, that conformance proves. Those with more than four
  // draws are too large for two rounds and come last.
  std::vector<absl::string_view> examples = {};
};

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_ROW_H_
