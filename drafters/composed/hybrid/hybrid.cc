#include "drafters/composed/hybrid/hybrid.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafter.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// How many tokens of the path the trunk drafted, up to the first that it did
// not.
int AcceptedOf(const RoundOutcome& outcome) {
  int accepted = 0;
  int at = 0;
  for (int next : outcome.verdict.path) {
    bool own = false;
    for (const DrawList& list : outcome.tree.node(at).lists)
      if (list.trunk == outcome.trunk)
        own = std::any_of(list.draws.begin(), list.draws.end(),
                          [&](const Draw& draw) { return draw.child == next; });
    if (!own) break;
    ++accepted;
    at = next;
  }
  return accepted;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> Hybrid::Build(ParamsReader& in,
                                                       Workbench& bench) {
  std::vector<Params> list;
  HybridOptions options;
  in.Required("drafters", list);
  in.Ensure(!list.empty(), "drafters", "must name a drafter");
  in.Optional("memory", options.memory);
  in.Ensure(options.memory >= 1, "memory", "must be at least 1");
  in.Optional("start", options.start);
  in.Ensure(options.start > 0, "start", "must be more than 0");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  std::vector<Params> sections;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ParamsReader one(list[i], absl::StrCat("drafter ", i + 1, " of a hybrid"));
    sections.emplace_back();
    options.depths.push_back(0);
    one.Required("drafter", sections.back());
    one.Optional("depth", options.depths.back());
    one.Ensure(options.depths.back() >= 0, "depth",
               "must be at least 1, or 0 for no limit");
    BANYAN_RETURN_IF_ERROR(one.Finish());
  }
  BANYAN_ASSIGN_OR_RETURN(InnerDrafters parts,
                          InnerDrafters::Build(sections, bench));
  return std::make_unique<Hybrid>(std::move(parts), std::move(options));
}

Hybrid::Hybrid(InnerDrafters parts, HybridOptions options)
    : DrafterOfDrafters(std::move(parts)), options_(std::move(options)) {}

absl::Status Hybrid::Begin(const Context& context) {
  BANYAN_RETURN_IF_ERROR(parts().Begin(context));
  sums_.assign(static_cast<std::size_t>(parts().count()), {});
  Choose(context);
  return absl::OkStatus();
}

double Hybrid::PromiseOf(int part, const Context& context) const {
  const double promise =
      parts()[part].drafter().Promise(context).value_or(options_.start);
  const int depth = options_.depths[static_cast<std::size_t>(part)];
  return depth > 0 ? std::min<double>(promise, depth) : promise;
}

void Hybrid::Choose(const Context& context) {
  double most = -1;
  for (int part = 0; part < parts().count(); ++part) {
    if (!parts()[part].Reaches(context, 0)) continue;
    const Sums& sums = sums_[static_cast<std::size_t>(part)];
    const double promise = PromiseOf(part, context);
    const double value = promise * (sums.accepted + options_.start) /
                         (sums.promised + options_.start);
    if (value <= most) continue;
    most = value;
    chosen_ = part;
    promised_ = promise;
  }
}

absl::StatusOr<std::vector<std::vector<Distribution>>> Hybrid::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  std::vector<InnerDrafters::Choice> choices;
  for (const DraftRequest& request : requests) {
    auto& own = static_cast<Hybrid&>(*request.drafter);
    choices.push_back({&request, &own.parts(), {}});
    const int depth = options_.depths[static_cast<std::size_t>(own.chosen_)];
    for (int node : request.nodes) {
      const bool drafts = depth == 0 || request.tree->node(node).depth < depth;
      choices.back().part_of.push_back(drafts ? own.chosen_ : -1);
    }
  }
  return InnerDrafters::AnswerAll(choices);
}

absl::Status Hybrid::Observe(const Context& context,
                             const RoundOutcome& outcome) {
  BANYAN_RETURN_IF_ERROR(parts().Observe(context, outcome));
  for (Sums& sums : sums_) {
    sums.accepted *= 1 - 1 / options_.memory;
    sums.promised *= 1 - 1 / options_.memory;
  }
  Sums& own = sums_[static_cast<std::size_t>(chosen_)];
  own.accepted += AcceptedOf(outcome);
  own.promised += promised_;
  Choose(context);
  return absl::OkStatus();
}

}  // namespace banyan
