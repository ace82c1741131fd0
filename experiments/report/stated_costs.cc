#include "experiments/report/stated_costs.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/cell_text.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

constexpr char kTargetMs[] = "target_ms";
constexpr char kDraftMs[] = "draft_ms";
constexpr char kAnyOther[] = "other";  // a drafter that is not named

using CostByDrafter = std::map<std::string, double>;

// Times of a pass: a nanosecond, and eleven days. Outside of them speeds are no
// finite numbers.
constexpr double kLeastMs = 1e-6;
constexpr double kMostMs = 1e9;

absl::StatusOr<double> ReadLevel(const Params& value) {
  double ms = 0;
  BANYAN_RETURN_IF_ERROR(Convert(value, ms));
  if (ms < 0 || ms > kMostMs)
    return value.Expected(
        absl::StrCat("milliseconds a level, from 0 to ", kMostMs));
  return ms;
}

// `value` is a curve.
absl::Status CheckTargetMs(const Params& value) {
  for (const Params::Entry& entry : value.entries()) {
    double ms = 0;
    BANYAN_RETURN_IF_ERROR(Convert(entry.value, ms));
    if (ms < kLeastMs || ms > kMostMs)
      return entry.value.Expected(absl::StrCat("milliseconds a pass, from ",
                                               kLeastMs, " to ", kMostMs));
  }
  return absl::OkStatus();
}

absl::Status ReadDraftMs(const Params& value, StatedCosts& costs) {
  if (value.kind() != Params::Kind::kMap) {
    BANYAN_ASSIGN_OR_RETURN(costs.draft_ms, ReadLevel(value));
    return absl::OkStatus();
  }
  CostByDrafter by_drafter;
  for (const Params::Entry& entry : value.entries()) {
    BANYAN_ASSIGN_OR_RETURN(by_drafter[entry.key], ReadLevel(entry.value));
  }
  costs.draft_ms = std::move(by_drafter);
  return absl::OkStatus();
}

// What `banyan measure` writes is the curve of the target alone.
bool IsBareCurve(const Params& file) {
  int tokens = 0;
  return !file.entries().empty() &&
         absl::SimpleAtoi(file.entries().front().key, &tokens);
}

std::string Names(const CostByDrafter& costs) {
  return absl::StrJoin(costs, ", ", [](std::string* out, const auto& entry) {
    out->append(entry.first);
  });
}

// None without a cost.
std::optional<double> FindLevel(const CostByDrafter& costs,
                                const std::string& drafter) {
  for (const std::string& name :
       {drafter, drafter.substr(0, drafter.find('(')), std::string(kAnyOther)})
    if (const auto found = costs.find(name); found != costs.end())
      return found->second;
  return std::nullopt;
}

// Of a level, by the cell's trunks.
absl::StatusOr<std::vector<double>> LevelMs(const StatedCosts& costs,
                                            const CellRecords& cell) {
  std::vector<double> ms;
  for (const records::Trunk& trunk : cell.cell->trunks()) {
    if (const double* all = std::get_if<double>(&costs.draft_ms)) {
      ms.push_back(*all);
      continue;
    }
    const auto& by_drafter = std::get<CostByDrafter>(costs.draft_ms);
    const auto found = FindLevel(by_drafter, trunk.drafter());
    if (!found.has_value())
      return costs.params.Find(kDraftMs)->Error(absl::StrCat(
          "draft_ms has no cost for '", trunk.drafter(), "', which drafts for ",
          cell.name, "; known: ", Names(by_drafter)));
    ms.push_back(*found);
  }
  return ms;
}

absl::StatusOr<double> RoundsMs(const StatedCosts& costs,
                                const std::vector<double>& level_ms,
                                const records::PromptRecord& record) {
  double sum = 0;
  const int trunks = static_cast<int>(level_ms.size());
  for (const records::Round& round : record.rounds()) {
    BANYAN_ASSIGN_OR_RETURN(const double pass_ms,
                            PassMs(costs, PassTokens(round)));
    double round_ms = pass_ms;
    const std::vector<int> levels = LevelsByTrunk(round, trunks);
    for (std::size_t i = 0; i < levels.size(); ++i)
      round_ms += levels[i] * level_ms[i];
    sum += round_ms / Sequences(round);
  }
  return sum;
}

// None with another number of trunks, or where a round was shared.
absl::StatusOr<std::optional<double>> OracleMs(
    const StatedCosts& costs, const std::vector<double>& level_ms,
    const records::PromptRecord& record) {
  if (level_ms.size() != 1) return std::nullopt;
  double sum = 0;
  for (const records::Round& round : record.rounds()) {
    if (Sequences(round) > 1) return std::nullopt;
    const int kept = KeptOfPath(round);
    BANYAN_ASSIGN_OR_RETURN(const double pass_ms,
                            PassMs(costs, kept + 1 + round.probes_size()));
    sum += pass_ms + kept * level_ms[0];
  }
  return sum;
}

absl::Status StateTime(const StatedCosts& costs,
                       const std::vector<double>& level_ms, PromptPair& pair) {
  StatedTimes times = {.costs = costs.name};
  BANYAN_ASSIGN_OR_RETURN(times.ms, RoundsMs(costs, level_ms, *pair.record));
  BANYAN_ASSIGN_OR_RETURN(times.oracle_ms,
                          OracleMs(costs, level_ms, *pair.record));
  if (pair.baseline != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(times.baseline_ms,
                            RoundsMs(costs, {}, *pair.baseline));
  }
  pair.stated = std::move(times);
  return absl::OkStatus();
}

// The most that any target pass scored.
int LargestPass(const RecordSet& set) {
  int most = 1;
  for (const CellRecords& cell : set.cells)
    for (const PromptPair& pair : cell.pairs)
      for (const records::Round& round : pair.record->rounds())
        most = std::max(most, PassTokens(round));
  return most;
}

void WarnOfTargets(const StatedCosts& costs, RecordSet& set) {
  std::set<std::string> targets;
  for (const CellRecords& cell : set.cells)
    targets.insert(absl::StrCat(TargetName(*cell.cell), " ",
                                cell.cell->target().weights()));
  if (targets.size() > 1)
    set.warnings.push_back(absl::StrCat(
        costs.file, ": one target_ms is taken for ", targets.size(),
        " targets: ", absl::StrJoin(targets, ", ")));
}

}  // namespace

absl::StatusOr<StatedCosts> ReadStatedCosts(const std::string& path) {
  StatedCosts costs = {.file = path,
                       .name = std::filesystem::path(path).filename().string()};
  BANYAN_ASSIGN_OR_RETURN(costs.params, LoadYamlFile(path));
  if (IsBareCurve(costs.params))
    return costs.params.Error(
        "expected target_ms and draft_ms, found a curve alone; another file "
        "can hold it as 'target_ms: !include FILE'");
  ParamsReader in(costs.params, "costs");
  Params target_ms;
  Params draft_ms;
  in.Required(kTargetMs, target_ms);
  in.Required(kDraftMs, draft_ms);
  Params rates;
  const bool has_rates = in.Optional("rates", rates);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(costs.target_ms,
                          CostCurve::FromParams(kTargetMs, target_ms));
  BANYAN_RETURN_IF_ERROR(CheckTargetMs(target_ms));
  BANYAN_RETURN_IF_ERROR(ReadDraftMs(draft_ms, costs));
  if (has_rates) {
    BANYAN_ASSIGN_OR_RETURN(costs.rates, ReadStatedRates(rates));
  }
  return costs;
}

absl::StatusOr<double> PassMs(const StatedCosts& costs, int tokens) {
  const absl::StatusOr<double> ms = costs.target_ms.At(tokens);
  if (!ms.ok())
    return costs.params.Find(kTargetMs)->Error(ms.status().message());
  return ms;
}

absl::StatusOr<double> LevelMsOf(const StatedCosts& costs,
                                 const std::string& drafter,
                                 const Params& place) {
  if (const double* all = std::get_if<double>(&costs.draft_ms)) return *all;
  const auto& by_drafter = std::get<CostByDrafter>(costs.draft_ms);
  if (drafter.empty() && by_drafter.size() == 1)
    return by_drafter.begin()->second;
  const auto found = FindLevel(by_drafter, drafter);
  if (found.has_value()) return *found;
  return place.Error(absl::StrCat(
      drafter.empty()
          ? "expected 'drafter', whose draft_ms counts"
          : absl::StrCat("draft_ms has no cost for '", drafter, "'"),
      "; known: ", Names(by_drafter)));
}

absl::Status StateTimes(const StatedCosts& costs, RecordSet& set) {
  // First, so that one message is enough to mend the curve.
  BANYAN_RETURN_IF_ERROR(PassMs(costs, LargestPass(set)).status());
  for (CellRecords& cell : set.cells) {
    BANYAN_ASSIGN_OR_RETURN(const std::vector<double> level_ms,
                            LevelMs(costs, cell));
    for (PromptPair& pair : cell.pairs)
      BANYAN_RETURN_IF_ERROR(StateTime(costs, level_ms, pair));
  }
  WarnOfTargets(costs, set);
  return absl::OkStatus();
}

std::string Assumption(const StatedCosts& costs) {
  return absl::StrCat(
      "Predicted, not measured, by ", costs.file,
      ": a round takes target_ms at the nodes of its tree, probes too, 1 for "
      "a plain token, and draft_ms a level of each trunk, nothing around the "
      "passes; "
      "in a batch each prompt takes an equal share of the pass and of its own "
      "levels.");
}

}  // namespace banyan
