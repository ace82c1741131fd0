#include "tree/policies/catalogue.h"

#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/optimize/joint_shape.h"
#include "tree/policies/adaptive_chain.h"
#include "tree/policies/auto_shape.h"
#include "tree/policies/best_first.h"
#include "tree/policies/cost_aware.h"
#include "tree/policies/expand_rerank.h"
#include "tree/policies/fixed_shape.h"
#include "tree/policies/joint.h"
#include "tree/policies/plans.h"
#include "tree/policies/row.h"
#include "tree/policies/sequences.h"
#include "tree/policies/shape_plan.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

absl::StatusOr<DrawKind> ReadDrawKind(const Params& value) {
  std::string name;
  BANYAN_RETURN_IF_ERROR(Convert(value, name));
  std::vector<absl::string_view> known;
  for (DrawKind draw_kind : kDrawKinds) {
    if (Name(draw_kind) == name) return draw_kind;
    known.push_back(Name(draw_kind));
  }
  return value.Error(UnknownName("draw kind", name, known));
}

absl::Status CheckRenamed(const PolicyRow& row, const Params& section) {
  for (const RenamedKey& key : row.renamed)
    if (section.Find(key.old_name) != nullptr)
      return ErrorAt(
          section.PlaceOf(key.old_name),
          absl::StrCat("policy ", row.name, ": the key '", key.old_name,
                       "' is now called '", key.name, "'"));
  return absl::OkStatus();
}

absl::Status BuildRow(const PolicyRow& row, ParamsReader& in,
                      PolicyChoice& choice) {
  if (row.build != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(choice.policy, row.build(in));
    return in.Finish();
  }
  BANYAN_ASSIGN_OR_RETURN(const ShapePlan plan, row.plan(in));
  if (row.of_method)
    choice.policy = std::make_unique<Joint>(
        JointShape{plan.shape, plan.drafters}, plan.count);
  else
    choice.policy = std::make_unique<FixedShape>(plan.shape, plan.share_draws);
  choice.file = plan.file;
  return absl::OkStatus();
}

std::vector<PolicyRow>& Rows() {
  static auto& rows = *new std::vector<PolicyRow>{
      ChainRow(),     SequencesRow(), ExpansionRow(),    StaticRow(),
      SequoiaRow(),   BestFirstRow(), ExpandRerankRow(), AdaptiveChainRow(),
      AutoShapeRow(), CostAwareRow(), JointRow(),
  };
  return rows;
}

}  // namespace

absl::Span<const PolicyRow> PolicyCatalogue() { return Rows(); }

void AddPolicies(absl::Span<const PolicyRow> rows) { AppendRows(rows, Rows()); }

absl::StatusOr<PolicyChoice> BuildPolicy(const Params& section) {
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* row,
                          FindRow(PolicyCatalogue(), "policy", section));
  BANYAN_RETURN_IF_ERROR(CheckRenamed(*row, section));
  ParamsReader in(section, absl::StrCat("policy ", row->name));
  in.Take("name");
  PolicyChoice choice;
  if (const Params* named = in.Take("draws")) {
    BANYAN_ASSIGN_OR_RETURN(choice.draw_kind, ReadDrawKind(*named));
  }
  BANYAN_RETURN_IF_ERROR(BuildRow(*row, in, choice));
  // What the keys alone did not show.
  if (const int nodes = choice.policy->traits().nodes; nodes > kMaxDraws)
    return section.Error(absl::StrCat("policy ", row->name, ": makes up to ",
                                      nodes, " draws a round: more than ",
                                      kMaxDraws));
  return choice;
}

absl::StatusOr<ShapePlan> PlanShape(const Params& section) {
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* row,
                          FindRow(PolicyCatalogue(), "policy", section));
  if (row->plan == nullptr)
    return section.Error(absl::StrCat(
        "policy ", row->name,
        ": its shape depends on what is drawn, so there is none to draw here"));
  BANYAN_RETURN_IF_ERROR(CheckRenamed(*row, section));
  ParamsReader in(section, absl::StrCat("policy ", row->name));
  in.Take("name");
  in.Take("draws");
  return row->plan(in);
}

}  // namespace banyan
