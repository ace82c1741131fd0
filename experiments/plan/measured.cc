#include "experiments/plan/measured.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/prob/draw_kind.h"
#include "experiments/plan/joint_costs.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/resolve.h"
#include "tree/optimize/chain.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/hardware.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/plans.h"
#include "tree/policies/row.h"
#include "tree/policies/shape_plan.h"

namespace banyan {
namespace {

constexpr int kMostNodes = 64;  // that a measured size may have

// The most nodes that the policy may come to draft.
int MostNodes(const PolicySpec& policy) {
  return policy.measures_size() ? kMostNodes : policy.nodes();
}

// A chain with the kind of draws of `policy`.
PolicySpec ProbePolicy(const PolicySpec& policy) {
  PolicySpec chain = ChainPolicy(kProbeLevels);
  chain.TakeDraws(policy);
  return chain;
}

// The cell in which a level of the drafter is timed as `cell` would draft it.
ExperimentCell Probe(const ExperimentCell& cell, const OneDrafter& drafter,
                     const PolicySpec& policy, const Params& verifier) {
  ExperimentCell probe = cell;
  probe.spec = MethodOf(drafter, policy, verifier);
  probe.opponents.clear();
  probe.axes.clear();
  probe.baseline = 0;
  probe.method = drafter.label;
  probe.name =
      absl::StrCat(cell.target.directory, "\n", cell.target.weights, "\n",
                   cell.target.memory, "\n", cell.batch, "\n",
                   ToYaml(Params::Map(cell.sampling)), "\n", drafter.identity,
                   "\n", ToYaml(policy.section()), ToYaml(verifier));
  return probe;
}

ExperimentCell ChainProbe(const ExperimentCell& cell,
                          const OneDrafter& drafter) {
  return Probe(cell, drafter, ChainPolicy(kProbeLevels), ChainVerifier());
}

// The table of a probe's drafter. The error is placed at that drafter.
absl::StatusOr<AcceptanceTable> AcceptanceOf(const Experiment& experiment,
                                             const ExperimentCell& probe,
                                             const std::string& weights = "",
                                             const std::string& draws = "") {
  absl::StatusOr<AcceptanceTable> found = FindAcceptance(
      experiment.costs, {.target = FolderName(probe.target.directory),
                         .weights = weights,
                         .temperature = TemperatureOf(probe),
                         .drafter = {.label = probe.method, .draws = draws}});
  if (!found.ok()) return ErrorAt(probe.spec.place, found.status());
  return found;
}

// Calls `visit` for each policy of a method that has something measured.
absl::Status ForEachMeasured(ExperimentCell& cell,
                             absl::FunctionRef<absl::Status(
                                 const OneDrafter& drafter, PolicySpec& policy)>
                                 visit) {
  MethodSpec& method = cell.spec;
  for (TrunkSpec& trunk : method.trunks) {
    PolicySpec& policy = trunk.policy;
    if (!policy.measures()) continue;
    if (!trunk.has_own_policy && method.trunks.size() > 1 &&
        !policy.of_method())
      return ErrorAt(
          policy.place(),
          "measured: a size can be measured for one drafter only; list "
          "`trunks` (one subtree per drafter), each with its own policy");
    BANYAN_RETURN_IF_ERROR(policy.CheckTakesCosts());
    BANYAN_RETURN_IF_ERROR(
        visit(Alone(method, trunk.drafter, FolderName(cell.target.directory)),
              policy));
  }
  return absl::OkStatus();
}

// The experiment's costs and tables, as its cells need them.
class Completion {
 public:
  Completion(const CostPlan& plan, const Costs& costs, Experiment& out)
      : plan_(plan), costs_(costs), out_(out) {}

  absl::Status Run() {
    for (ExperimentCell& cell : out_.cells) {
      if (cell.method == kPlainMethod) continue;
      const std::vector<TrunkSpec>& trunks = cell.spec.trunks;
      if (!trunks.empty() && trunks.front().policy.of_method()) {
        if (trunks.front().policy.measures())
          BANYAN_RETURN_IF_ERROR(ChooseTogether(cell));
        continue;
      }
      BANYAN_RETURN_IF_ERROR(ForEachMeasured(
          cell, [&](const OneDrafter& drafter, PolicySpec& policy) {
            return Choose(cell, drafter, policy);
          }));
    }
    if (!out_.compare.has_value()) return absl::OkStatus();
    if (!out_.compare->measured) return AddOpponents(out_);
    return AddOpponents(
        [&](const ExperimentCell& cell, const OneDrafter& drafter) {
          return BestChain(cell, drafter);
        },
        out_);
  }

 private:
  // All that is known of a drafter in a cell.
  struct Facts {
    AcceptanceTable acceptance;
    CostCurve target_ms;
    const PassCosts* passes;
    double draft_ms;
  };

  absl::StatusOr<Facts> FactsOf(const ExperimentCell& cell,
                                const ExperimentCell& probe) const {
    const auto target =
        std::find(plan_.targets.begin(), plan_.targets.end(), cell.target);
    const auto timed = std::find_if(
        plan_.probes.begin(), plan_.probes.end(),
        [&](const ExperimentCell& own) { return own.name == probe.name; });
    Check(target != plan_.targets.end() && timed != plan_.probes.end(),
          "the plan names what is asked for");
    const PassCosts& passes =
        costs_.passes[static_cast<std::size_t>(target - plan_.targets.begin())];
    const LevelCosts& level =
        costs_.levels[static_cast<std::size_t>(timed - plan_.probes.begin())];
    Facts facts = {.passes = &passes, .draft_ms = level.ms};
    BANYAN_ASSIGN_OR_RETURN(
        facts.acceptance,
        AcceptanceOf(out_, probe, passes.setting.weights, level.draws));
    BANYAN_ASSIGN_OR_RETURN(facts.target_ms,
                            CostCurve::FromMap("target_ms", passes.ms));
    return facts;
  }

  absl::StatusOr<std::optional<ChainLength>> BestChain(
      const ExperimentCell& cell, const OneDrafter& drafter) {
    const ExperimentCell probe = ChainProbe(cell, drafter);
    BANYAN_ASSIGN_OR_RETURN(const Facts facts, FactsOf(cell, probe));
    std::vector<double> acceptance = facts.acceptance.ByDepth();
    const auto most = static_cast<std::size_t>(MostMeasured(facts, cell.batch));
    if (acceptance.size() > most) acceptance.resize(most);
    const absl::StatusOr<ChainChoice> best =
        FastestChain(acceptance, facts.target_ms, facts.draft_ms,
                     facts.acceptance.Drafted(), cell.batch);
    if (!best.ok()) return ErrorAt(drafter.section.origin(), best.status());
    Note(absl::StrFormat(
        "%s: chain length %d is predicted to be fastest, speedup %.2fx%s",
        About(cell, drafter.label), best->length, best->speedup,
        best->length == static_cast<int>(acceptance.size())
            ? "; acceptance was counted to this depth only"
            : ""));
    return ChainLength{.target = FolderName(cell.target.directory),
                       .drafter = drafter.label,
                       .temperature = TemperatureOf(cell),
                       .length = best->length,
                       .speed = best->speedup};
  }

  // For a policy of all drafters: what they cost, and how often each and all
  // together are accepted.
  absl::Status ChooseTogether(ExperimentCell& cell) {
    std::vector<AcceptanceTable> alone;
    std::vector<std::string> labels;
    std::vector<double> draft_ms;
    std::optional<Facts> last;
    const PolicySpec policy = cell.spec.trunks.front().policy;
    for (const TrunkSpec& trunk : cell.spec.trunks) {
      const OneDrafter drafter =
          Alone(cell.spec, trunk.drafter, FolderName(cell.target.directory));
      BANYAN_ASSIGN_OR_RETURN(
          last, FactsOf(cell, Probe(cell, drafter, ProbePolicy(policy),
                                    cell.spec.verifier)));
      alone.push_back(last->acceptance);
      labels.push_back(drafter.label);
      draft_ms.push_back(last->draft_ms);
    }
    std::optional<AcceptanceTable> together;
    if (labels.size() > 1) {
      const absl::StatusOr<AcceptanceTable> found =
          FindTogether(out_.costs,
                       {.target = FolderName(cell.target.directory),
                        .temperature = TemperatureOf(cell)},
                       labels);
      if (!found.ok()) return ErrorAt(policy.place(), found.status());
      together = *found;
    }
    const JointNumbers numbers = CountJointly(
        alone, together.has_value() ? &*together : nullptr, labels);
    const int most = MostMeasured(*last, cell.batch);
    for (TrunkSpec& trunk : cell.spec.trunks) {
      const int stated = trunk.policy.nodes();
      trunk.policy.SetSize(stated == 0 ? most : std::min(stated, most),
                           trunk.policy.levels());
      trunk.policy.SetCosts(last->passes->ms, draft_ms, numbers);
      trunk.policy.SetBatch(cell.batch);
    }
    return NoteShape(cell, labels);
  }

  // Says which shape a policy of all drafters has, if it has one.
  absl::Status NoteShape(const ExperimentCell& cell,
                         const std::vector<std::string>& labels) {
    const PolicySpec& policy = cell.spec.trunks.front().policy;
    if (policy.row()->plan == nullptr) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(const ShapePlan plan, PlanShape(policy.section()));
    std::vector<int> nodes(labels.size(), 0);
    for (const int drafter : plan.drafters)
      if (drafter >= 0) ++nodes[static_cast<std::size_t>(drafter)];
    std::vector<std::string> shares;
    for (std::size_t i = 0; i < labels.size(); ++i)
      shares.push_back(absl::StrCat(labels[i], " ", nodes[i]));
    Note(absl::StrFormat("%s: tree of %s in %s (%s), predicted speedup %.2fx",
                         About(cell, cell.method),
                         Counted(plan.choice->nodes, "node"),
                         Counted(plan.choice->levels, "level"),
                         absl::StrJoin(shares, ", "), plan.choice->speedup));
    return absl::OkStatus();
  }

  absl::Status Choose(const ExperimentCell& cell, const OneDrafter& drafter,
                      PolicySpec& policy) {
    BANYAN_ASSIGN_OR_RETURN(
        const Facts facts,
        FactsOf(cell,
                Probe(cell, drafter, ProbePolicy(policy), cell.spec.verifier)));
    const std::vector<double> ranks = facts.acceptance.ByRank();
    const bool measures_costs = policy.measures_costs();
    const bool measures_size = policy.measures_size();
    policy.DropCosts();  // a preset's, of another machine or drafter
    if (policy.row()->takes_costs) policy.SetAcceptance(ranks);
    if (measures_costs) policy.SetCosts(facts.passes->ms, facts.draft_ms);
    if (!measures_size) return absl::OkStatus();
    const int stated = policy.levels();
    const absl::StatusOr<HardwareChoice> best = FastestTree(
        {.limits = {.acceptance = ranks,
                    .nodes = MostMeasured(facts, cell.batch),
                    .levels = stated,
                    .width = policy.row()->sizes.width ? policy.width() : 0},
         .target_ms = facts.target_ms,
         .draft_ms = facts.draft_ms,
         .sequences = cell.batch});
    if (!best.ok())
      return ErrorAt(policy.place(),
                     absl::StrCat("policy ", policy.row()->name, ": ",
                                  best.status().message()));
    const int nodes = std::max(1, best->nodes);
    const int levels = stated == 0 ? std::max(1, best->levels) : stated;
    policy.SetSize(nodes, levels);
    Note(absl::StrFormat(
        "%s: tree of %s in %s, %s", About(cell, cell.method),
        Counted(nodes, "node"), Counted(std::max(1, best->levels), "level"),
        best->nodes == 0
            ? "but no tree is predicted to be faster than plain decoding"
            : absl::StrFormat("predicted speedup %.2fx", best->speedup)));
    return absl::OkStatus();
  }

  // The most nodes of a sequence whose pass was measured: a large batch may not
  // fit the target's context.
  static int MostMeasured(const Facts& facts, int batch) {
    return std::clamp(facts.passes->ms.rbegin()->first / batch - 1, 1,
                      kMostNodes);
  }

  static std::string About(const ExperimentCell& cell, absl::string_view what) {
    return absl::StrFormat(
        "measured: %s on %s at temperature %g%s", what,
        FolderName(cell.target.directory), TemperatureOf(cell),
        cell.batch == 1 ? "" : absl::StrCat(", batch ", cell.batch));
  }

  void Note(std::string note) {
    if (noted_.insert(note).second) out_.predictions.push_back(std::move(note));
  }

  const CostPlan& plan_;
  const Costs& costs_;
  Experiment& out_;
  std::set<std::string> noted_;
};

}  // namespace

bool HasMeasured(const Experiment& experiment) {
  for (const ExperimentCell& cell : experiment.cells)
    for (const TrunkSpec& trunk : cell.spec.trunks)
      if (trunk.policy.measures()) return true;
  return false;
}

absl::StatusOr<CostPlan> PlanCosts(const Experiment& experiment) {
  CostPlan plan;
  std::set<std::string> names;
  const auto add = [&](ExperimentCell probe, int nodes) {
    plan.rows =
        std::max(plan.rows, probe.batch * (std::max(nodes, kProbeLevels) + 1));
    if (std::find(plan.targets.begin(), plan.targets.end(), probe.target) ==
        plan.targets.end())
      plan.targets.push_back(probe.target);
    if (names.insert(probe.name).second)
      plan.probes.push_back(std::move(probe));
  };
  int deepest = 1;
  for (const AcceptanceTable& table : experiment.costs.acceptance)
    for (const CandidateCounts& one : table.counts)
      deepest = std::max(deepest, one.depth);
  for (ExperimentCell cell : experiment.cells) {
    if (cell.method == kPlainMethod) continue;
    BANYAN_RETURN_IF_ERROR(ForEachMeasured(
        cell, [&](const OneDrafter& drafter, PolicySpec& policy) {
          add(Probe(cell, drafter, ProbePolicy(policy), cell.spec.verifier),
              MostNodes(policy));
          return absl::OkStatus();
        }));
    if (!experiment.compare.has_value() || !experiment.compare->measured)
      continue;
    for (const OneDrafter& drafter :
         EachAlone(cell.spec, FolderName(cell.target.directory)))
      add(ChainProbe(cell, drafter), deepest);
  }
  // Weights and draws are known once the models are open. The rest need not
  // wait for the measurements.
  for (const ExperimentCell& probe : plan.probes)
    BANYAN_RETURN_IF_ERROR(AcceptanceOf(experiment, probe).status());
  return plan;
}

absl::StatusOr<DrafterPlan> PlanDrafters(const Experiment& experiment,
                                         const CountOptions& options) {
  DrafterPlan plan;
  std::set<std::string> timed;
  std::set<std::string> counted;
  // Each once, and then called as readers are told of it.
  const auto add = [](ExperimentCell cell, const std::string& name,
                      std::set<std::string>& names,
                      std::vector<ExperimentCell>& cells) {
    if (!names.insert(cell.name).second) return;
    cell.name = name;
    cells.push_back(std::move(cell));
  };
  for (const ExperimentCell& cell : experiment.cells) {
    std::vector<ModelSpec>& targets = plan.times.targets;
    if (std::find(targets.begin(), targets.end(), cell.target) == targets.end())
      targets.push_back(cell.target);
    for (const TrunkSpec& trunk : cell.spec.trunks) {
      const OneDrafter drafter =
          Alone(cell.spec, trunk.drafter, FolderName(cell.target.directory));
      const auto probe = [&](PolicySpec policy) {
        policy.TakeDraws(trunk.policy);
        return Probe(cell, drafter, policy, cell.spec.verifier);
      };
      const std::string label = absl::StrCat(drafter.label, " of ", cell.name);
      plan.times.rows =
          std::max(plan.times.rows, cell.batch * (kProbeLevels + 1));
      add(probe(ChainPolicy(kProbeLevels)), label, timed, plan.times.probes);
      add(probe(ChainPolicy(options.levels)), label + ", a chain", counted,
          plan.counted);
      add(probe(PolicySpec(RootSection(options.ranks))), label + ", a tree",
          counted, plan.counted);
      if (cell.spec.trunks.size() > 1 && trunk.policy.measures())
        return ErrorAt(trunk.policy.place(),
                       "measured: a method of several drafters is counted as "
                       "it is; state its size");
    }
    if (cell.spec.trunks.size() < 2) continue;
    ExperimentCell whole = cell;
    whole.baseline = 0;
    add(std::move(whole), cell.name, counted, plan.counted);
  }
  return plan;
}

ExperimentCell HeadsCell(const ExperimentCell& cell, int heads, int ranks) {
  ExperimentCell with = cell;
  PolicySpec policy(HeadsSection(heads, ranks));
  // The likeliest candidates in their order, whatever the method draws.
  policy.SetDraws(Name(DrawKind::kDeterministic));
  with.spec.trunks.front().policy = std::move(policy);
  return with;
}

absl::Status Complete(const Costs& costs, Experiment& experiment) {
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  Check(costs.passes.size() == plan.targets.size() &&
            costs.levels.size() == plan.probes.size(),
        "costs are of this experiment");
  BANYAN_RETURN_IF_ERROR(Completion(plan, costs, experiment).Run());
  experiment.measured = false;
  return absl::OkStatus();
}

}  // namespace banyan
