// PolicyRow: a tree policy's entry in the catalogue, defined beside its code.
#ifndef BANYAN_TREE_POLICIES_ROW_H_
#define BANYAN_TREE_POLICIES_ROW_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/draw_kind.h"
#include "tree/policies/shape_plan.h"
#include "tree/tree_policy.h"

namespace banyan {

// The keys of its size that may stand together.
struct SizeKeys {
  bool nodes = false;   // `nodes`: drafted in a round, at most
  bool levels = false;  // `levels`: of the tree, at most
  bool width = false;   // `width`: children of a node, at most
};

// A key that had another name: what it is called now.
struct RenamedKey {
  absl::string_view old_name;
  absl::string_view name;
};

using BuiltPolicy = absl::StatusOr<std::unique_ptr<TreePolicy>>;

struct PolicyRow {
  absl::string_view name;
  absl::string_view sentence;
  // All keys that `plan` or `build` reads, but `name` and `draws`.
  std::vector<KeyRow> keys = {};
  // Exactly one of the two is set. A plan is a shape known before anything is
  // drawn, drafted by FixedShape, or by Joint.
  std::function<absl::StatusOr<ShapePlan>(ParamsReader& in)> plan = nullptr;
  std::function<BuiltPolicy(ParamsReader& in)> build = nullptr;
  SizeKeys sizes = {};
  // Keys that state the shape in the place of `nodes`.
  std::vector<absl::string_view> instead_of_nodes = {};
  // Whether it chooses a shape by measured costs: `acceptance`, `target_ms`,
  // `draft_ms`.
  bool takes_costs = false;
  // Whether it shapes the tree of all drafters of a method
  // (tree/method_policy.h), and reads the costs and acceptance of all.
  bool of_method = false;
  // The draw kind that it drafts with, if there is but one.
  std::optional<DrawKind> only_draws = std::nullopt;
  // An old key is an error that names the new one.
  std::vector<RenamedKey> renamed = {};
  // Small sections, in YAML, that conformance proves. Those with more than four
  // draws are too large for two rounds and come last.
  std::vector<absl::string_view> examples = {};
};

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_ROW_H_
