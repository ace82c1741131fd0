#include "experiments/report/stated_costs.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/read_costs.h"
#include "experiments/records/cell_names.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

CostQuestion QuestionOf(const records::Cell& cell) {
  return {.target = TargetName(cell),
          .weights = cell.target().weights(),
          .temperature = cell.temperature(),
          .batch = std::max(1, static_cast<int>(cell.batch()))};
}

std::string Names(const Costs& costs) {
  std::set<std::string> names;
  for (const LevelCosts& level : costs.levels) names.insert(level.drafter);
  return absl::StrJoin(names, ", ");
}

absl::Status LacksLevel(const StatedCosts& costs, const std::string& drafter,
                        const std::string& cell) {
  return ErrorAt(costs.tables.levels.front().place,
                 absl::StrCat("`levels` have no cost for '", drafter,
                              "', which drafts for ", cell,
                              "; known: ", Names(costs.tables)));
}

// What a cell's passes and levels cost.
struct CellCosts {
  const PassCosts* passes = nullptr;
  CostCurve curve;               // theirs
  std::vector<double> level_ms;  // by trunk
};

absl::StatusOr<CellCosts> CostsOf(const StatedCosts& costs,
                                  const CellRecords& cell) {
  CostQuestion question = QuestionOf(*cell.cell);
  CellCosts own = {.passes = BestPasses(costs.tables, question)};
  BANYAN_ASSIGN_OR_RETURN(own.curve,
                          CostCurve::FromMap("passes", own.passes->ms));
  for (const records::Trunk& trunk : cell.cell->trunks()) {
    question.drafter = {.label = trunk.label(),
                        .kind = trunk.drafter(),
                        .draws = DrawKindName(trunk.draws())};
    if (question.drafter.label.empty())
      question.drafter.label = trunk.drafter();
    const LevelCosts* level = BestLevel(costs.tables, question);
    if (level == nullptr) return LacksLevel(costs, trunk.drafter(), cell.name);
    own.level_ms.push_back(level->ms);
  }
  return own;
}

absl::StatusOr<double> PassMs(const CellCosts& costs, int tokens) {
  const absl::StatusOr<double> ms = costs.curve.At(tokens);
  if (!ms.ok()) return ErrorAt(costs.passes->place, ms.status());
  return ms;
}

absl::StatusOr<double> RoundsMs(const CellCosts& costs,
                                const records::PromptRecord& record) {
  double sum = 0;
  const int trunks = static_cast<int>(costs.level_ms.size());
  for (const records::Round& round : record.rounds()) {
    BANYAN_ASSIGN_OR_RETURN(const double pass_ms,
                            PassMs(costs, PassTokens(round)));
    double round_ms = pass_ms;
    const std::vector<int> levels = LevelsByTrunk(round, trunks);
    for (std::size_t i = 0; i < levels.size(); ++i)
      round_ms += levels[i] * costs.level_ms[i];
    sum += round_ms / Sequences(round);
  }
  return sum;
}

// None with another number of trunks, or where a round was shared.
absl::StatusOr<std::optional<double>> OracleMs(
    const CellCosts& costs, const records::PromptRecord& record) {
  if (costs.level_ms.size() != 1) return std::nullopt;
  double sum = 0;
  for (const records::Round& round : record.rounds()) {
    if (Sequences(round) > 1) return std::nullopt;
    const int kept = KeptOfPath(round);
    BANYAN_ASSIGN_OR_RETURN(const double pass_ms,
                            PassMs(costs, kept + 1 + round.probes_size()));
    sum += pass_ms + kept * costs.level_ms[0];
  }
  return sum;
}

absl::Status StateTime(const std::string& name, const CellCosts& costs,
                       PromptPair& pair) {
  StatedTimes times = {.costs = name};
  BANYAN_ASSIGN_OR_RETURN(times.ms, RoundsMs(costs, *pair.record));
  BANYAN_ASSIGN_OR_RETURN(times.oracle_ms, OracleMs(costs, *pair.record));
  if (pair.baseline != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(
        times.baseline_ms,
        RoundsMs({.passes = costs.passes, .curve = costs.curve, .level_ms = {}},
                 *pair.baseline));
  }
  pair.stated = std::move(times);
  return absl::OkStatus();
}

// The most tokens that any target pass of the cell scored.
int LargestPass(const CellRecords& cell) {
  int most = 1;
  for (const PromptPair& pair : cell.pairs)
    for (const records::Round& round : pair.record->rounds())
      most = std::max(most, PassTokens(round));
  return most;
}

// Where targets take the passes of another one, or share those of any.
void WarnOfTargets(const StatedCosts& costs, RecordSet& set) {
  std::map<const PassCosts*, std::set<std::string>> targets;
  for (const CellRecords& cell : set.cells)
    targets[BestPasses(costs.tables, QuestionOf(*cell.cell))].insert(
        absl::StrCat(TargetName(*cell.cell), " ",
                     cell.cell->target().weights()));
  for (const auto& [passes, names] : targets) {
    const std::string& own = passes->setting.target;
    const std::string all = absl::StrJoin(names, ", ");
    if (names.size() > 1)
      set.warnings.push_back(absl::StrCat(costs.file,
                                          ": the same passes are taken for ",
                                          names.size(), " targets: ", all));
    else if (!own.empty() && !absl::StartsWith(all, own + " "))
      set.warnings.push_back(absl::StrCat(costs.file, ": the passes of ", own,
                                          " are taken for ", all));
  }
}

absl::StatusOr<StatedCosts> FromParams(Params params, const std::string& file) {
  StatedCosts costs = {.file = file,
                       .name = std::filesystem::path(file).filename().string(),
                       .params = std::move(params)};
  BANYAN_ASSIGN_OR_RETURN(costs.tables, ReadCosts(costs.params));
  if (costs.tables.passes.empty() || costs.tables.levels.empty())
    return costs.params.Error(
        "expected `passes` of a target and `levels` of its drafters "
        "(docs/formats.md)");
  if (costs.tables.rates.kind() != Params::Kind::kNull) {
    BANYAN_ASSIGN_OR_RETURN(costs.rates, ReadStatedRates(costs.tables.rates));
  }
  return costs;
}

}  // namespace

absl::StatusOr<StatedCosts> ReadStatedCosts(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(Params params, LoadYamlFile(path));
  return FromParams(std::move(params), path);
}

absl::StatusOr<StatedCosts> ReadStatedCosts(absl::string_view text,
                                            const std::string& file) {
  BANYAN_ASSIGN_OR_RETURN(Params params, ParseYaml(text, file));
  return FromParams(std::move(params), file);
}

absl::StatusOr<double> PassMs(const PassCosts& passes, int tokens) {
  CellCosts costs = {.passes = &passes};
  BANYAN_ASSIGN_OR_RETURN(costs.curve, CostCurve::FromMap("passes", passes.ms));
  return PassMs(costs, tokens);
}

absl::StatusOr<double> LevelMsOf(const StatedCosts& costs,
                                 const std::string& drafter,
                                 const Params& place) {
  const std::vector<LevelCosts>& levels = costs.tables.levels;
  if (drafter.empty() && levels.size() == 1) return levels.front().ms;
  const std::string name = drafter.empty() ? kAnyDrafter : drafter;
  const LevelCosts* level =
      BestLevel(costs.tables, {.drafter = {.label = name, .kind = name}});
  if (level != nullptr) return level->ms;
  return place.Error(absl::StrCat(
      drafter.empty()
          ? "expected 'drafter', whose level counts"
          : absl::StrCat("`levels` have no cost for '", drafter, "'"),
      "; known: ", Names(costs.tables)));
}

absl::StatusOr<std::vector<PromptPair>> WithStatedTimes(
    const StatedCosts& costs, const CellRecords& cell) {
  BANYAN_ASSIGN_OR_RETURN(const CellCosts own, CostsOf(costs, cell));
  // First, so that one message is enough to mend the curve.
  BANYAN_RETURN_IF_ERROR(PassMs(own, LargestPass(cell)).status());
  std::vector<PromptPair> pairs = cell.pairs;
  for (PromptPair& pair : pairs)
    BANYAN_RETURN_IF_ERROR(StateTime(costs.name, own, pair));
  return pairs;
}

absl::Status StateTimes(const StatedCosts& costs, RecordSet& set) {
  for (CellRecords& cell : set.cells) {
    BANYAN_ASSIGN_OR_RETURN(cell.pairs, WithStatedTimes(costs, cell));
  }
  WarnOfTargets(costs, set);
  return absl::OkStatus();
}

std::string Assumption(const StatedCosts& costs) {
  return absl::StrCat(
      "Predicted, not measured, by ", costs.file,
      ": a round takes a pass of the nodes of its tree, probes too, 1 for a "
      "plain token, and a level's time for each level of each trunk, nothing "
      "around the passes; "
      "in a batch each prompt takes an equal share of the pass and of its own "
      "levels.");
}

}  // namespace banyan
