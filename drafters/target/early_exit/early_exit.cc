#include "drafters/target/early_exit/early_exit.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/target/view_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

ViewOptions ViewOf(int exit) {
  std::vector<int> layers(static_cast<std::size_t>(exit));
  std::iota(layers.begin(), layers.end(), 0);
  ViewOptions options = ViewOptions::Layers(layers);
  options.keeps_rows = true;
  return options;
}

// What is wrong with them, all of it; empty: nothing.
std::string FaultOf(const std::vector<int>& exits, int layers) {
  std::vector<int> outside;
  for (int exit : exits)
    if (exit < 1 || exit >= layers) outside.push_back(exit);
  std::vector<std::string> faults;
  if (exits.empty()) faults.push_back("expected at least one exit");
  if (!outside.empty())
    faults.push_back(absl::StrCat(
        "expected exits from 1 to ", layers - 1, ", fewer than the target's ",
        layers, " layers, not ", absl::StrJoin(outside, ", ")));
  if (std::adjacent_find(exits.begin(), exits.end(), std::greater_equal<>()) !=
      exits.end())
    faults.push_back("expected ascending exits");
  return absl::StrJoin(faults, "; ");
}

bool Settled(const Distribution& law, double settled) {
  return law.empty() || law.Mass(law.Argmax()) >= settled;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Drafter>> EarlyExit::Build(ParamsReader& in,
                                                          Workbench& bench) {
  std::vector<int> exits;
  double settled = 0.8;
  in.Required("exits", exits);
  const std::string fault = FaultOf(exits, bench.target().layers());
  in.Ensure(fault.empty(), "exits", fault);
  in.Optional("settled", settled);
  in.Ensure(settled > 0 && settled <= 1, "settled",
            "expected a mass above 0 and at most 1");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  for (int exit : exits)
    BANYAN_RETURN_IF_ERROR(CheckView(in.section(), bench, ViewOf(exit)));
  return std::make_unique<EarlyExit>(bench.shared_target(), std::move(exits),
                                     settled, std::move(rule));
}

EarlyExit::EarlyExit(std::shared_ptr<const Model> target,
                     std::vector<int> exits, double settled, SamplingRule rule)
    : settled_(settled) {
  for (int exit : exits) {
    auto stage = std::make_unique<ViewDrafter>(target, ViewOf(exit), rule);
    if (!stages_.empty()) stage->GoOnFrom(stages_.back().get());
    stages_.push_back(std::move(stage));
  }
}

std::unique_ptr<Drafter> EarlyExit::Clone() const {
  std::vector<int> exits;
  for (const auto& stage : stages_)
    exits.push_back(static_cast<int>(stage->options().attention.size()));
  return std::make_unique<EarlyExit>(first().model(), std::move(exits),
                                     settled_, first().rule());
}

absl::Status EarlyExit::TakeViews(Session& target) {
  for (const auto& stage : stages_)
    BANYAN_RETURN_IF_ERROR(stage->TakeViews(target));
  return absl::OkStatus();
}

absl::Status EarlyExit::Begin(const Context& context) {
  for (const auto& stage : stages_)
    BANYAN_RETURN_IF_ERROR(stage->Begin(context));
  return absl::OkStatus();
}

// The same requests, of the drafters of a stage.
std::vector<DraftRequest> EarlyExit::AtStage(
    std::size_t stage, absl::Span<const DraftRequest> requests) const {
  std::vector<DraftRequest> at(requests.begin(), requests.end());
  for (DraftRequest& request : at)
    request.drafter =
        static_cast<EarlyExit*>(request.drafter)->stages_[stage].get();
  return at;
}

// Asks for the nodes whose laws have not settled, each behind those of its
// ancestors that this stage has not scored.
DraftRequest EarlyExit::Unsettled(std::size_t stage,
                                  const DraftRequest& request,
                                  absl::Span<const Distribution> laws) const {
  const auto& own = static_cast<const EarlyExit&>(*request.drafter);
  DraftRequest asked = request;
  asked.nodes.clear();
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    if (Settled(laws[i], settled_)) continue;
    std::vector<int> path;
    for (int node = request.nodes[i]; node != Node::kNoParent;
         node = request.tree->node(node).parent) {
      if (absl::c_linear_search(asked.nodes, node) ||
          own.stages_[stage]->Asked(node))
        break;
      path.push_back(node);
    }
    asked.nodes.insert(asked.nodes.end(), path.rbegin(), path.rend());
  }
  return asked;
}

absl::StatusOr<std::vector<std::vector<Distribution>>> EarlyExit::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  for (const DraftRequest& request : requests) {
    if (request.nodes.front() != 0) continue;
    // A drafting begins: what deeper stages scored was an abandoned round's.
    for (const auto& stage : static_cast<EarlyExit*>(request.drafter)->stages_)
      stage->Resume(*request.context);
  }
  BANYAN_ASSIGN_OR_RETURN(std::vector<std::vector<Distribution>> all,
                          stages_.front()->ProposeAll(AtStage(0, requests)));
  for (std::size_t stage = 1; stage < stages_.size(); ++stage) {
    std::vector<std::size_t> whose;
    std::vector<DraftRequest> unsettled;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      DraftRequest request = Unsettled(stage, requests[i], all[i]);
      if (request.nodes.empty()) continue;
      whose.push_back(i);
      unsettled.push_back(std::move(request));
    }
    if (unsettled.empty()) break;
    BANYAN_ASSIGN_OR_RETURN(
        std::vector<std::vector<Distribution>> deeper,
        stages_[stage]->ProposeAll(AtStage(stage, unsettled)));
    for (std::size_t i = 0; i < whose.size(); ++i)
      for (std::size_t j = 0; j < unsettled[i].nodes.size(); ++j) {
        const std::vector<int>& nodes = requests[whose[i]].nodes;
        const auto at = absl::c_find(nodes, unsettled[i].nodes[j]);
        if (at != nodes.end())
          all[whose[i]][static_cast<std::size_t>(at - nodes.begin())] =
              std::move(deeper[i][j]);
      }
  }
  return all;
}

absl::Status EarlyExit::Observe(const Context& context,
                                const RoundOutcome& outcome) {
  for (const auto& stage : stages_)
    BANYAN_RETURN_IF_ERROR(stage->Observe(context, outcome));
  return absl::OkStatus();
}

}  // namespace banyan
