#include "drafters/target/early_exit/early_exit.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/rows.h"
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
    faults.emplace_back("expected ascending exits");
  return absl::StrJoin(faults, "; ");
}

bool Settled(const Distribution& law, double settled) {
  return law.empty() || law.Mass(law.Argmax()) >= settled;
}

}  // namespace

EarlyExit::EarlyExit(std::shared_ptr<const Model> target,
                     std::vector<int> exits, double settled, SamplingRule rule)
    : Drafter({.draw_kinds = EveryDrawKind(),
               .longest_text = target->context_limit(),
               .proposes_ahead = true},
              /*carried=*/nullptr),
      settled_(settled) {
  for (int exit : exits)
    stages_.push_back(
        std::make_unique<ViewDrafter>(target, ViewOf(exit), rule));
}

// A view an exit, each of which goes on from the one before.
class EarlyExitSession : public QuietSession, private TargetPassPart {
 public:
  EarlyExitSession(absl::Span<const std::unique_ptr<ViewDrafter>> stages,
                   double settled)
      : QuietSession({.in_target_pass = this}), settled_(settled) {
    for (const auto& stage : stages)
      stages_.push_back(std::make_unique<ViewSession>(
          *stage, stages_.empty() ? nullptr : stages_.back().get()));
  }

  absl::Status Begin(const Context& context) override {
    for (const auto& stage : stages_)
      BANYAN_RETURN_IF_ERROR(stage->Begin(context));
    return absl::OkStatus();
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    for (const auto& stage : stages_)
      BANYAN_RETURN_IF_ERROR(stage->Observe(context, outcome));
    return absl::OkStatus();
  }

  void DropRound() {
    for (const auto& stage : stages_) stage->DropRound();
  }
  // The same request, of a stage's session.
  DraftRequest AtStage(std::size_t stage, DraftRequest request) const {
    request.session = stages_[stage].get();
    return request;
  }
  // Of a stage's session, for the nodes whose distributions have not settled,
  // each after those of its ancestors that this stage has not scored.
  DraftRequest Unsettled(std::size_t stage, const DraftRequest& request,
                         absl::Span<const Proposal> proposals) const;

 private:
  absl::Status TakeViews(Session& target) override {
    for (const auto& stage : stages_)
      BANYAN_RETURN_IF_ERROR(stage->TakeViews(target));
    return absl::OkStatus();
  }
  void Plant(const Context& /*context*/, int /*max_depth*/,
             TrunkTree& /*tree*/) override {}
  DoneRows Computed(const DraftTree& tree) const override {
    return stages_.front()->Computed(tree);
  }

  std::vector<std::unique_ptr<ViewSession>> stages_;
  double settled_;
};

std::unique_ptr<DraftSession> EarlyExit::NewSession() const {
  return std::make_unique<EarlyExitSession>(stages_, settled_);
}

DraftRequest EarlyExitSession::Unsettled(
    std::size_t stage, const DraftRequest& request,
    absl::Span<const Proposal> proposals) const {
  DraftRequest asked = AtStage(stage, request);
  asked.nodes.clear();
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    if (Settled(proposals[i].q, settled_)) continue;
    std::vector<int> path;
    for (int node = request.nodes[i]; node != Node::kNoParent;
         node = request.tree->node(node).parent) {
      if (absl::c_linear_search(asked.nodes, node) ||
          stages_[stage]->pending().Has(node))
        break;
      path.push_back(node);
    }
    asked.nodes.insert(asked.nodes.end(), path.rbegin(), path.rend());
  }
  return asked;
}

absl::StatusOr<std::vector<Proposals>> EarlyExit::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<DraftRequest> earliest;
  for (const DraftRequest& request : requests) {
    auto& own = SessionOf<EarlyExitSession>(request);
    if (request.nodes.front() == 0) own.DropRound();  // a drafting begins
    earliest.push_back(own.AtStage(0, request));
  }
  BANYAN_ASSIGN_OR_RETURN(std::vector<Proposals> all,
                          stages_.front()->Propose(earliest));
  for (std::size_t stage = 1; stage < stages_.size(); ++stage) {
    std::vector<std::size_t> whose;
    std::vector<DraftRequest> unsettled;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      DraftRequest request = SessionOf<EarlyExitSession>(requests[i])
                                 .Unsettled(stage, requests[i], all[i]);
      if (request.nodes.empty()) continue;
      whose.push_back(i);
      unsettled.push_back(std::move(request));
    }
    if (unsettled.empty()) break;
    BANYAN_ASSIGN_OR_RETURN(std::vector<Proposals> deeper,
                            stages_[stage]->Propose(unsettled));
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

namespace {

struct EarlyExitOptions {
  std::vector<int> exits;
  double settled = 0.8;
};

BuiltDrafter BuildEarlyExit(ParamsReader& in, const EarlyExitOptions& options,
                            Workbench& bench) {
  const std::string fault = FaultOf(options.exits, bench.target().layers());
  in.Ensure(fault.empty(), "exits", fault);
  in.Ensure(options.settled > 0 && options.settled <= 1, "settled",
            "expected a mass above 0 and at most 1");
  BANYAN_ASSIGN_OR_RETURN(SamplingRule rule, bench.TakeRule(in));
  BANYAN_RETURN_IF_ERROR(in.Finish());
  for (int exit : options.exits)
    BANYAN_RETURN_IF_ERROR(CheckView(in.section(), bench, ViewOf(exit)));
  return std::make_unique<EarlyExit>(bench.shared_target(), options.exits,
                                     options.settled, std::move(rule));
}

}  // namespace

DrafterRow EarlyExitRow() {
  Keys<EarlyExitOptions> keys;
  keys.Required("exits", &EarlyExitOptions::exits,
                "The numbers of first layers after which it may draft, "
                "ascending.");
  keys.Optional("settled", &EarlyExitOptions::settled,
                "With several exits: the mass of the likeliest token from "
                "which an exit's distribution is taken.");
  keys.Described(SamplingKey());
  return {.name = "early_exit",
          .sentence =
              "Early exit (LayerSkip): the target's first layers; the target's "
              "pass continues from them.",
          .draw_kinds = EveryDrawKind(),
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildEarlyExit),
          .examples = {"{exits: [1]}", "{exits: [1, 2], settled: 0.6}"},
          .search = SearchOver::kExits};
}

}  // namespace banyan
