#include "experiments/report/stated_costs.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/json/json_value.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
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

namespace {

// vLLM's names.
constexpr char kRates[] = "synthetic_acceptance_rates";
constexpr char kTokens[] = "num_speculative_tokens";
constexpr char kMethod[] = "rejection_sample_method";
constexpr char kSynthetic[] = "synthetic";

absl::Status CheckRates(const Params& value, const std::vector<double>& rates) {
  if (rates.empty()) return value.Expected("at least one rate");
  double before = 1;
  for (double rate : rates) {
    if (!(rate >= 0 && rate <= before))
      return value.Error(absl::StrCat(
          "expected probabilities that do not rise, since the first i tokens "
          "are accepted only if the first i - 1 are; found ",
          rate, " after ", before));
    before = rate;
  }
  return absl::OkStatus();
}

absl::StatusOr<StatedRates> ReadOne(const Params::Entry& entry) {
  StatedRates rates = {.name = entry.key, .params = entry.value};
  ParamsReader in(entry.value, "rates");
  Params list;
  int tokens = 0;
  std::string method = kSynthetic;
  in.Required(kRates, list);
  in.Optional(kTokens, tokens);
  in.Optional(kMethod, method);
  in.Optional("drafter", rates.drafter);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_RETURN_IF_ERROR(Convert(list, rates.accepted));
  BANYAN_RETURN_IF_ERROR(CheckRates(list, rates.accepted));
  if (tokens != 0 && tokens != static_cast<int>(rates.accepted.size()))
    return entry.value.Find(kTokens)->Expected(
        absl::StrCat(rates.accepted.size(), ", a rate for each draft token"));
  if (method != kSynthetic)
    return entry.value.Find(kMethod)->Expected(
        absl::StrCat("'", kSynthetic, "'"));
  return rates;
}

// By depth, how many rounds accepted at least as many tokens.
struct Depths {
  std::vector<int> accepted;
  int rounds = 0;  // those with draft tokens, as vLLM counts drafts
};

Depths CountDepths(const CellRecords& cell) {
  Depths depths;
  for (const PromptPair& pair : cell.pairs)
    for (const records::Round& round : pair.record->rounds()) {
      const auto levels = static_cast<std::size_t>(Levels(round));
      if (levels == 0) continue;
      ++depths.rounds;
      if (levels > depths.accepted.size()) depths.accepted.resize(levels);
      for (int depth = 0; depth < round.path_size(); ++depth)
        ++depths.accepted[static_cast<std::size_t>(depth)];
    }
  return depths;
}

}  // namespace

absl::StatusOr<std::vector<StatedRates>> ReadStatedRates(const Params& value) {
  if (value.kind() != Params::Kind::kMap)
    return value.Expected("a map from names to rates");
  std::vector<StatedRates> all;
  for (const Params::Entry& entry : value.entries()) {
    BANYAN_ASSIGN_OR_RETURN(StatedRates one, ReadOne(entry));
    all.push_back(std::move(one));
  }
  return all;
}

absl::StatusOr<Table> RatesTable(const StatedCosts& costs) {
  Table table;
  table.header = {"acceptance stated", "draft tokens", "tokens per pass",
                  "predicted speedup"};
  Table::Section& section = table.sections.emplace_back();
  const PassCosts& passes = costs.tables.passes.front();
  BANYAN_ASSIGN_OR_RETURN(const double plain_ms, PassMs(passes, 1));
  for (const StatedRates& rates : costs.rates) {
    const int tokens = static_cast<int>(rates.accepted.size());
    BANYAN_ASSIGN_OR_RETURN(const double pass_ms, PassMs(passes, tokens + 1));
    BANYAN_ASSIGN_OR_RETURN(const double level_ms,
                            LevelMsOf(costs, rates.drafter, rates.params));
    const double yield =
        std::accumulate(rates.accepted.begin(), rates.accepted.end(), 1.0);
    section.rows.push_back(
        {rates.name, absl::StrCat(tokens), absl::StrFormat("%.2f", yield),
         absl::StrFormat("%.2fx",
                         yield * plain_ms / (pass_ms + tokens * level_ms))});
  }
  table.notes.push_back(absl::StrCat(
      "Predicted from the rates and costs of ", costs.file,
      " alone: every round drafts all tokens, and entry i of the rates is the "
      "probability that the first i are accepted."));
  return table;
}

absl::Status ExportAcceptance(const RecordSet& set, std::ostream& out) {
  JsonValue all = JsonValue::Object();
  for (const CellRecords& cell : set.cells) {
    const Depths depths = CountDepths(cell);
    if (depths.accepted.empty()) continue;
    JsonValue rates = JsonValue::List();
    for (int accepted : depths.accepted)
      rates.Add(static_cast<double>(accepted) / depths.rounds);
    all[cell.name] = {{kTokens, depths.accepted.size()},
                      {kMethod, kSynthetic},
                      {kRates, std::move(rates)}};
  }
  out << all.Text(/*indent=*/2) << "\n";
  return out ? absl::OkStatus()
             : absl::InternalError("the export could not be written");
}

}  // namespace banyan
