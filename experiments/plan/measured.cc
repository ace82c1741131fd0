#include "experiments/plan/measured.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "configs/loader/writer.h"
#include "core/base/catalogue.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/plan/acceptance.h"
#include "experiments/plan/compare.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/plan/opponents.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/resolve.h"
#include "tree/optimize/chain.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/hardware.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/row.h"

namespace banyan {
namespace {

constexpr int kMostNodes = 64;  // that a measured size may have

bool Says(const Params& map, const char* key, absl::string_view text) {
  const Params* value = map.Find(key);
  return value != nullptr && value->text() == text;
}

// Null: there is no such policy, which the method will say.
const PolicyRow* RowOf(const Params& policy) {
  const absl::StatusOr<const PolicyRow*> row =
      FindRow(PolicyCatalogue(), "policy", policy);
  return row.ok() ? *row : nullptr;
}

// Whether its size is measured, where a number of nodes and of levels say it.
bool HasMeasuredSize(const Params& policy) {
  if (!Says(policy, "nodes", kMeasured)) return false;
  const PolicyRow* row = RowOf(policy);
  return row != nullptr && row->sizes.nodes && row->sizes.levels;
}

bool IsMeasured(const Params& policy) {
  return HasMeasuredSize(policy) || Says(policy, "target_ms", kMeasured);
}

// Only such a policy can leave its costs to the machine.
absl::Status CheckReadsCosts(const Params& policy) {
  if (!Says(policy, "target_ms", kMeasured)) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const PolicyRow* row,
                          FindRow(PolicyCatalogue(), "policy", policy));
  if (row->takes_costs) return absl::OkStatus();
  std::vector<absl::string_view> others;
  for (const PolicyRow& other : PolicyCatalogue())
    if (other.takes_costs) others.push_back(other.name);
  return policy.Find("target_ms")
      ->Error(absl::StrCat("policy ", row->name,
                           ": only these policies read `target_ms: measured`, "
                           "to choose a tree by its costs: ",
                           absl::StrJoin(others, ", ")));
}

// 0: not a number, which the policy will say.
int IntAt(const Params& map, const char* key) {
  int number = 0;
  const Params* value = map.Find(key);
  if (value == nullptr || !absl::SimpleAtoi(value->text(), &number)) return 0;
  return number;
}

// The most nodes that the policy may come to draft.
int MostNodes(const Params& policy) {
  return HasMeasuredSize(policy) ? kMostNodes : IntAt(policy, "nodes");
}

Params Verifier(const Params& method) {
  const Params* verifier = method.Find("verifier");
  return verifier == nullptr ? ChainVerifier() : *verifier;
}

// A chain with the kind of draws of `policy`.
Params ProbePolicy(const Params& policy) {
  std::vector<Params::Entry> draws;
  const PolicyRow* row = RowOf(policy);
  if (const Params* stated = policy.Find("draws"))
    draws.push_back({"draws", {}, *stated});
  else if (row != nullptr && row->only_draws.has_value())
    draws.push_back(
        {"draws", {}, Params::Scalar(std::string(Name(*row->only_draws)))});
  return Overlay(ChainPolicy(kProbeLevels), Params::Map(std::move(draws)));
}

// The cell in which a level of the drafter is timed as `cell` would draft it.
ExperimentCell Probe(const ExperimentCell& cell, const OneDrafter& drafter,
                     const Params& policy, const Params& verifier) {
  ExperimentCell probe = cell;
  probe.section = MethodOf(drafter, policy, verifier);
  probe.opponents.clear();
  probe.axes.clear();
  probe.baseline = 0;
  probe.method = drafter.label;
  probe.name =
      absl::StrCat(cell.target.directory, "\n", cell.target.weights, "\n",
                   cell.batch, "\n", ToYaml(Params::Map(cell.sampling)), "\n",
                   drafter.identity, "\n", ToYaml(policy), ToYaml(verifier));
  return probe;
}

ExperimentCell ChainProbe(const ExperimentCell& cell,
                          const OneDrafter& drafter) {
  return Probe(cell, drafter, ChainPolicy(kProbeLevels), ChainVerifier());
}

// The table of a probe's drafter. The error is placed at that drafter.
absl::StatusOr<AcceptanceTable> AcceptanceOf(const Experiment& experiment,
                                             const ExperimentCell& probe,
                                             AcceptanceKey key) {
  key.target = FolderName(probe.target.directory);
  key.drafter = probe.method;
  key.temperature = TemperatureOf(probe);
  absl::StatusOr<AcceptanceTable> found =
      FindAcceptance(experiment.acceptance, key);
  if (!found.ok()) return ErrorAt(probe.section.origin(), found.status());
  return found;
}

// A policy of a method that has something measured, with its drafter.
struct MeasuredPolicy {
  Params policy;
  OneDrafter drafter;
};

// Returns the method with each such policy as `choose` returns it.
absl::StatusOr<Params> EditPolicies(
    const ExperimentCell& cell,
    absl::FunctionRef<absl::StatusOr<Params>(const MeasuredPolicy&)> choose) {
  const Params& method = cell.section;
  const Params* drafters = method.Find("drafters");
  const Params* own = method.Find("policy");
  const Params* trunks = method.Find("trunks");
  if (drafters == nullptr || drafters->kind() != Params::Kind::kList)
    return method;  // which the method will say
  const auto edit = [&](const Params& policy,
                        std::size_t drafter) -> absl::StatusOr<Params> {
    if (!IsMeasured(policy) || drafter >= drafters->items().size())
      return policy;
    BANYAN_RETURN_IF_ERROR(CheckReadsCosts(policy));
    return choose({policy, Alone(method, drafters->items()[drafter],
                                 FolderName(cell.target.directory))});
  };
  if (trunks == nullptr) {
    if (own == nullptr || !IsMeasured(*own)) return method;
    if (drafters->items().size() > 1)
      return own->Error(
          "measured: a size can be measured for one drafter only; list "
          "`trunks` "
          "(one subtree per drafter), each with its own policy");
    BANYAN_ASSIGN_OR_RETURN(const Params policy, edit(*own, 0));
    return WithValue(method, "policy", policy);
  }
  Params edited = method;
  for (std::size_t i = 0; i < trunks->items().size(); ++i) {
    const Params& trunk = trunks->items()[i];
    const Params* policy = trunk.Find("policy");
    if (policy == nullptr) {
      if (own != nullptr && IsMeasured(*own))
        return own->Error("measured: expected a policy in every trunk");
      continue;
    }
    BANYAN_ASSIGN_OR_RETURN(
        const Params chosen,
        edit(*policy, static_cast<std::size_t>(IntAt(trunk, "drafter"))));
    BANYAN_ASSIGN_OR_RETURN(
        edited,
        WithValue(edited, absl::StrCat("trunks.", i, ".policy"), chosen));
  }
  return edited;
}

// The experiment's costs and tables, as its cells need them.
class Completion {
 public:
  Completion(const CostPlan& plan, const MachineCosts& costs, Experiment& out)
      : plan_(plan), costs_(costs), out_(out) {}

  absl::Status Run() {
    for (ExperimentCell& cell : out_.cells) {
      if (cell.method == kPlainMethod) continue;
      BANYAN_ASSIGN_OR_RETURN(
          cell.section, EditPolicies(cell, [&](const MeasuredPolicy& measured) {
            return Choose(cell, measured);
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
    const LevelMs& level =
        costs_.levels[static_cast<std::size_t>(timed - plan_.probes.begin())];
    Facts facts = {.passes = &passes, .draft_ms = level.ms};
    BANYAN_ASSIGN_OR_RETURN(
        facts.acceptance,
        AcceptanceOf(out_, probe,
                     {.weights = passes.weights, .draws = level.draws}));
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

  absl::StatusOr<Params> Choose(const ExperimentCell& cell,
                                const MeasuredPolicy& measured) {
    const Params& policy = measured.policy;
    BANYAN_ASSIGN_OR_RETURN(
        const Facts facts,
        FactsOf(cell, Probe(cell, measured.drafter, ProbePolicy(policy),
                            Verifier(cell.section))));
    const std::vector<double> ranks = facts.acceptance.ByRank();
    std::vector<Params::Entry> chosen;
    const auto set = [&](const char* key, Params value) {
      chosen.push_back({key, {}, std::move(value)});
    };
    const PolicyRow* row = RowOf(policy);
    if (row->takes_costs) set("acceptance", Numbers(ranks));
    if (Says(policy, "target_ms", kMeasured)) {
      set("target_ms", CurveMap(*facts.passes));
      set("draft_ms", Number(facts.draft_ms));
    }
    if (HasMeasuredSize(policy)) {
      const int stated = IntAt(policy, "levels");
      const int widest = row->sizes.width ? IntAt(policy, "width") : 0;
      const absl::StatusOr<HardwareChoice> best =
          FastestTree({.limits = {.acceptance = ranks,
                                  .nodes = MostMeasured(facts, cell.batch),
                                  .levels = stated,
                                  .width = widest},
                       .target_ms = facts.target_ms,
                       .draft_ms = facts.draft_ms,
                       .sequences = cell.batch});
      if (!best.ok())
        return policy.Error(
            absl::StrCat("policy ", row->name, ": ", best.status().message()));
      const int nodes = std::max(1, best->nodes);
      const int levels = std::max(1, best->levels);
      set("nodes", Params::Scalar(absl::StrCat(nodes)));
      if (stated == 0) set("levels", Params::Scalar(absl::StrCat(levels)));
      Note(absl::StrFormat(
          "%s: tree of %d nodes in %d levels, %s", About(cell, cell.method),
          nodes, levels,
          best->nodes == 0
              ? "but no tree is predicted to be faster than "
                "plain decoding"
              : absl::StrFormat("predicted speedup %.2fx", best->speedup)));
    }
    // What a preset says of another machine or drafter.
    Params bare = policy;
    for (const char* key : {"calibration", "target_ms", "draft_ms"})
      bare = Without(bare, key);
    return Overlay(bare, Params::Map(std::move(chosen), policy.origin()));
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

  static Params Number(double number) {
    return Params::Scalar(absl::StrFormat("%.17g", number));
  }
  static Params Numbers(const std::vector<double>& numbers) {
    std::vector<Params> items;
    for (const double number : numbers) items.push_back(Number(number));
    return Params::List(std::move(items));
  }
  static Params CurveMap(const PassCosts& passes) {
    std::vector<Params::Entry> entries;
    for (const auto& [tokens, ms] : passes.ms)
      entries.push_back({absl::StrCat(tokens), {}, Number(ms)});
    return Params::Map(std::move(entries));
  }

  void Note(std::string note) {
    if (noted_.insert(note).second) out_.notes.push_back(std::move(note));
  }

  const CostPlan& plan_;
  const MachineCosts& costs_;
  Experiment& out_;
  std::set<std::string> noted_;
};

}  // namespace

bool HasMeasured(const Experiment& experiment) {
  const auto says = [](const Params* policy) {
    return policy != nullptr && IsMeasured(*policy);
  };
  for (const ExperimentCell& cell : experiment.cells) {
    if (says(cell.section.Find("policy"))) return true;
    if (const Params* trunks = cell.section.Find("trunks"))
      for (const Params& trunk : trunks->items())
        if (says(trunk.Find("policy"))) return true;
  }
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
  std::size_t deepest = 1;
  for (const AcceptanceTable& table : experiment.acceptance)
    deepest = std::max(deepest, table.reached.size());
  for (const ExperimentCell& cell : experiment.cells) {
    if (cell.method == kPlainMethod) continue;
    BANYAN_RETURN_IF_ERROR(
        EditPolicies(
            cell,
            [&](const MeasuredPolicy& measured) -> absl::StatusOr<Params> {
              add(Probe(cell, measured.drafter, ProbePolicy(measured.policy),
                        Verifier(cell.section)),
                  MostNodes(measured.policy));
              return measured.policy;
            })
            .status());
    if (!experiment.compare.has_value() || !experiment.compare->measured)
      continue;
    const Params* drafters = cell.section.Find("drafters");
    if (drafters == nullptr || drafters->kind() != Params::Kind::kList)
      continue;
    for (const Params& drafter : drafters->items())
      if (drafter.kind() == Params::Kind::kMap)
        add(ChainProbe(cell, Alone(cell.section, drafter,
                                   FolderName(cell.target.directory))),
            static_cast<int>(deepest));
  }
  // Weights and draws are known once the models are open. The rest need not
  // wait for the measurements.
  for (const ExperimentCell& probe : plan.probes)
    BANYAN_RETURN_IF_ERROR(AcceptanceOf(experiment, probe, {}).status());
  return plan;
}

absl::Status Complete(const MachineCosts& costs, Experiment& experiment) {
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  Check(costs.passes.size() == plan.targets.size() &&
            costs.levels.size() == plan.probes.size(),
        "costs are of this experiment");
  BANYAN_RETURN_IF_ERROR(Completion(plan, costs, experiment).Run());
  experiment.measured = false;
  return absl::OkStatus();
}

}  // namespace banyan
