#include "tree/policies/catalogue.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/catalogue.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "tree/draft_tree.h"
#include "tree/policies/adaptive_chain.h"
#include "tree/policies/auto_shape.h"
#include "tree/policies/best_first.h"
#include "tree/policies/expand_rerank.h"
#include "tree/policies/fixed_shape.h"
#include "tree/policies/plans.h"
#include "tree/policies/sequences.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

absl::StatusOr<DraftLaw> ReadLaw(const Params& value) {
  std::string name;
  BANYAN_RETURN_IF_ERROR(Convert(value, name));
  std::vector<absl::string_view> known;
  for (DraftLaw law : {DraftLaw::kIndependent, DraftLaw::kWithoutReplacement,
                       DraftLaw::kDeterministic}) {
    if (Name(law) == name) return law;
    known.push_back(Name(law));
  }
  return value.Error(UnknownName("law", name, known));
}

absl::Status Build(const PolicyRow& row, ParamsReader& in,
                   PolicyChoice& choice) {
  if (row.build != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(choice.policy, row.build(in));
    return in.Finish();
  }
  BANYAN_ASSIGN_OR_RETURN(const ShapePlan plan, row.plan(in));
  choice.policy = std::make_unique<FixedShape>(plan.shape, plan.share_draws);
  choice.file = plan.file;
  return absl::OkStatus();
}

}  // namespace

absl::Span<const PolicyRow> PolicyCatalogue() {
  static const auto& rows = *new std::vector<PolicyRow>{
      {.name = "chain",
       .sentence = "One token after another, gamma in all.",
       .plan = PlanChain,
       .examples = {"{gamma: 0}", "{gamma: 1}", "{gamma: 2}", "{gamma: 3}"}},
      {.name = "sequences",
       .sentence = "Several chains, each drawn on its own, merged where they "
                   "agree.",
       .build = Sequences::Build,
       .examples = {"{count: 1, gamma: 2}", "{count: 2, gamma: 2}"}},
      {.name = "expansion",
       .sentence = "SpecInfer's <k1, ..., km>: every node of level i draws ki "
                   "tokens.",
       .plan = PlanExpansion,
       .examples = {"{branching: [2]}", "{branching: [3]}",
                    "{branching: [1, 2]}", "{branching: [2, 1]}",
                    "{branching: [2, 2]}"}},
      {.name = "static",
       .sentence = "A stated tree: paths, a file of them, or grown greedily "
                   "from head accuracies (Medusa).",
       .plan = PlanStatic,
       .examples = {"{paths: [[0], [1], [0, 0]]}",
                    "{accuracies: [[0.6, 0.2], [0.5, 0.1]], budget: 3}"}},
      {.name = "sequoia",
       .sentence = "The best tree for a measured acceptance by rank, and on "
                   "measured hardware its best size.",
       .plan = PlanSequoia,
       .examples = {"{acceptance: [0.6, 0.2], budget: 3}",
                    "{acceptance: [0.6, 0.2], budget: 3, max_depth: 1}"}},
      {.name = "best_first",
       .sentence = "Each draw where the drafter deems acceptance likeliest "
                   "(DySpec; deterministic: OPT-Tree).",
       .build = BestFirst::Build,
       .examples = {"{budget: 2}", "{budget: 3, max_depth: 2}"}},
      {.name = "expand_rerank",
       .sentence = "Expand the best nodes level by level, then keep the best "
                   "of all (EAGLE-2).",
       .build = ExpandRerank::Build,
       .examples = {"{top_k: 2, depth: 2, total: 3}",
                    "{top_k: 2, depth: 2, total: 5}"}},
      {.name = "adaptive_chain",
       .sentence = "A chain that stops on low confidence, or lengthens and "
                   "shortens by its verdicts, or refits its threshold.",
       .build = AdaptiveChain::Build,
       .examples = {"{gamma: 2}", "{gamma: 2, on_low: drop}",
                    "{gamma: 2, on_low: stop_before, threshold: 0.5}",
                    "{gamma: 1, threshold: 0, adjust: true, max_gamma: 2}",
                    "{gamma: 3, on_low: drop, threshold: 0.3}",
                    "{gamma: 2, threshold: 0.5, goal: 0.4, step: 0.4}"}},
      {.name = "auto",
       .sentence = "Each round the fastest tree, down to none, by the running "
                   "acceptance and measured costs.",
       .build = AutoShape::Build,
       .examples = {"{acceptance: [0.6, 0.2], budget: 2, target_ms: {1: 1, 3: "
                    "1.2}}",
                    "{acceptance: [0.4, 0.3], budget: 3, max_depth: 2, "
                    "target_ms: {1: 1, 4: 1.1}, memory: 1}"}},
  };
  return rows;
}

absl::StatusOr<PolicyChoice> BuildPolicy(const Params& section) {
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* row,
                          FindRow(PolicyCatalogue(), "policy", section));
  ParamsReader in(section, absl::StrCat("policy ", row->name));
  in.Take("name");
  PolicyChoice choice;
  if (const Params* law = in.Take("law")) {
    BANYAN_ASSIGN_OR_RETURN(choice.law, ReadLaw(*law));
  }
  BANYAN_RETURN_IF_ERROR(Build(*row, in, choice));
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
  ParamsReader in(section, absl::StrCat("policy ", row->name));
  in.Take("name");
  in.Take("law");
  return row->plan(in);
}

}  // namespace banyan
