#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/weight_format.h"
#include "core/prob/draw_kind.h"
#include "experiments/plan/costs.h"
#include "tree/draft_tree.h"
#include "tree/optimize/cost_curve.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

constexpr absl::string_view kTables[] = {"passes", "levels", "acceptance",
                                         "heads",  "chains", "rates"};

// Times of a pass: a nanosecond, and eleven days. Outside of them speeds are no
// finite numbers.
constexpr double kLeastMs = 1e-6;
constexpr double kMostMs = 1e9;

using Counts = std::vector<std::int64_t>;

void TakeProvenance(ParamsReader& in, Provenance& from) {
  in.Optional("machine", from.machine);
  in.Optional("build", from.build);
  in.Optional("source", from.source);
  in.Optional("date", from.date);
}

// Whether the temperature is part of the setting.
void TakeSetting(ParamsReader& in, bool has_temperature, CostSetting& setting) {
  in.Optional("target", setting.target);
  if (in.Optional("weights", setting.weights))
    in.Ensure(FindFormat(setting.weights).has_value(), "weights",
              "must be f32, bf16, q8 or q4");
  in.Optional("memory", setting.memory);
  in.Optional("batch", setting.batch);
  in.Ensure(setting.batch >= 1, "batch", "must be at least 1");
  double temperature = 0;
  if (!has_temperature || !in.Optional("temperature", temperature)) return;
  in.Ensure(temperature >= 0, "temperature", "must not be negative");
  setting.temperature = temperature;
}

std::vector<absl::string_view> DrawNames() {
  std::vector<absl::string_view> names;
  for (const DrawKind kind : kDrawKinds) names.push_back(Name(kind));
  return names;
}

absl::StatusOr<Counts> ReadCounts(const Params& value) {
  std::vector<int> numbers;
  BANYAN_RETURN_IF_ERROR(Convert(value, numbers));
  if (numbers.empty() || *std::min_element(numbers.begin(), numbers.end()) < 0)
    return value.Expected("counts from 0");
  return Counts(numbers.begin(), numbers.end());
}

// Reads each item of a list of tables.
absl::Status ForEachTable(const Params& list,
                          absl::FunctionRef<absl::Status(const Params&)> read) {
  if (list.kind() != Params::Kind::kList) return list.Expected("a list");
  for (const Params& item : list.items()) BANYAN_RETURN_IF_ERROR(read(item));
  return absl::OkStatus();
}

absl::StatusOr<PassCosts> ReadPasses(const Params& item, Provenance from) {
  ParamsReader in(item, "passes");
  PassCosts passes = {.from = std::move(from), .place = item.origin()};
  TakeSetting(in, /*has_temperature=*/false, passes.setting);
  in.Optional("context", passes.context);
  in.Ensure(passes.context >= 0, "context", "must not be negative");
  const Params* ms = in.TakeRequired("ms");
  TakeProvenance(in, passes.from);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_RETURN_IF_ERROR(CostCurve::FromParams("ms", *ms).status());
  for (const Params::Entry& entry : ms->entries()) {
    double one = 0;
    BANYAN_RETURN_IF_ERROR(Convert(entry.value, one));
    if (one < kLeastMs || one > kMostMs)
      return entry.value.Expected(absl::StrCat("milliseconds a pass, from ",
                                               kLeastMs, " to ", kMostMs));
  }
  BANYAN_RETURN_IF_ERROR(Convert(*ms, passes.ms));
  return passes;
}

absl::Status ReadLevels(const Params& item, const Provenance& from,
                        std::vector<LevelCosts>& out) {
  ParamsReader in(item, "levels");
  LevelCosts common = {.from = from};
  TakeSetting(in, /*has_temperature=*/true, common.setting);
  if (in.Has("draws")) in.OneOf("draws", common.draws, DrawNames());
  const Params* ms = in.TakeRequired("ms");
  TakeProvenance(in, common.from);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  if (ms->kind() != Params::Kind::kMap || ms->entries().empty())
    return ms->Expected("a map from drafters to milliseconds");
  for (const Params::Entry& entry : ms->entries()) {
    LevelCosts& level = out.emplace_back(common);
    level.drafter = entry.key;
    level.place = entry.value.origin();
    BANYAN_RETURN_IF_ERROR(Convert(entry.value, level.ms));
    if (level.ms < 0 || level.ms > kMostMs)
      return entry.value.Expected(
          absl::StrCat("milliseconds a level, from 0 to ", kMostMs));
  }
  return absl::OkStatus();
}

// A drafter is of the kind that it is called, unless `kinds` say otherwise.
absl::StatusOr<std::vector<CountedDrafter>> ReadDrafters(
    const Params& item, std::vector<std::string> labels,
    std::vector<std::string> kinds, const std::vector<std::string>& draws) {
  if (labels.empty()) return item.Error("acceptance: expected a drafter");
  if (kinds.empty()) kinds = labels;
  if (kinds.size() != labels.size() || draws.size() != labels.size())
    return item.Error(absl::StrCat(
        "acceptance: expected as many draws and kinds as there are drafters (",
        labels.size(), ")"));
  const std::vector<absl::string_view> known = DrawNames();
  std::vector<CountedDrafter> drafters;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::find(known.begin(), known.end(), draws[i]) == known.end())
      return item.Find("draws")->Expected(EitherOf(known));
    drafters.push_back({labels[i], kinds[i], draws[i]});
  }
  return drafters;
}

absl::StatusOr<CandidateCounts> ReadCandidates(const Params& item,
                                               std::size_t drafters) {
  ParamsReader in(item, "counts");
  CandidateCounts counts;
  in.Optional("drafter", counts.drafter);
  in.Required("depth", counts.depth);
  in.Ensure(counts.depth >= 1 && counts.depth <= kMaxDraws, "depth",
            absl::StrCat("must lie between 1 and ", kMaxDraws));
  in.Optional("also", counts.also);
  const auto is_drafter = [&](int number) {
    return number >= 0 && static_cast<std::size_t>(number) < drafters;
  };
  in.Ensure(
      is_drafter(counts.drafter), "drafter",
      absl::StrCat("must number one of the ", drafters, " drafters, from 0"));
  const std::set<int> others(counts.also.begin(), counts.also.end());
  in.Ensure(std::all_of(others.begin(), others.end(), is_drafter) &&
                others.count(counts.drafter) == 0 &&
                std::vector<int>(others.begin(), others.end()) == counts.also,
            "also", "must number other drafters, each once, ascending");
  const Params* judged = in.TakeRequired("judged");
  const Params* accepted = in.TakeRequired("accepted");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(counts.judged, ReadCounts(*judged));
  BANYAN_ASSIGN_OR_RETURN(counts.accepted, ReadCounts(*accepted));
  bool agree = counts.judged.size() == counts.accepted.size();
  for (std::size_t i = 0; agree && i < counts.judged.size(); ++i)
    agree = counts.accepted[i] <= counts.judged[i];
  if (!agree)
    return accepted->Error(
        "expected as many counts as in `judged`, and none above the one there");
  return counts;
}

// Draws of one kind stand in one row.
absl::Status CheckRows(const Params& item, const AcceptanceTable& table) {
  std::set<std::tuple<int, int, std::vector<int>>> rows;
  for (const CandidateCounts& one : table.counts)
    if (!rows.emplace(one.drafter, one.depth, one.also).second)
      return item.Error(absl::StrCat("acceptance: two rows of drafter ",
                                     one.drafter, " at depth ", one.depth,
                                     " with the same `also`"));
  if (rows.empty()) return item.Error("acceptance: expected a row of counts");
  return absl::OkStatus();
}

// In a table of one drafter a draw is judged where the one before it was
// refused.
absl::Status CheckRanks(const Params& item, const AcceptanceTable& table) {
  for (const CandidateCounts& one : table.counts)
    for (std::size_t rank = 1; rank < one.judged.size(); ++rank)
      if (one.judged[rank] > one.judged[rank - 1] - one.accepted[rank - 1])
        return item.Error(absl::StrCat(
            "acceptance: at depth ", one.depth, " ", one.judged[rank],
            " draws of rank ", rank + 1, " were judged, but only ",
            one.judged[rank - 1] - one.accepted[rank - 1],
            " of the rank before were refused"));
  const auto first =
      std::find_if(table.counts.begin(), table.counts.end(),
                   [](const CandidateCounts& one) { return one.depth == 1; });
  if (first == table.counts.end() || first->judged.front() < 1 ||
      first->judged.front() > table.rounds)
    return item.Error(absl::StrCat(
        "acceptance: expected a first count at depth 1 from 1 to `rounds` (",
        table.rounds, ")"));
  return absl::OkStatus();
}

absl::StatusOr<AcceptanceTable> ReadAcceptance(const Params& item,
                                               Provenance from) {
  ParamsReader in(item, "acceptance");
  AcceptanceTable table = {.from = std::move(from), .place = item.origin()};
  TakeSetting(in, /*has_temperature=*/true, table.setting);
  std::vector<std::string> labels;
  std::vector<std::string> kinds;
  std::vector<std::string> draws;
  int rounds = 0;
  std::vector<Params> counts;
  in.Required("drafters", labels);
  in.Optional("kinds", kinds);
  in.Required("draws", draws);
  in.Required("rounds", rounds);
  in.Required("counts", counts);
  TakeProvenance(in, table.from);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  table.rounds = rounds;
  BANYAN_ASSIGN_OR_RETURN(
      table.drafters,
      ReadDrafters(item, std::move(labels), std::move(kinds), draws));
  for (const Params& one : counts) {
    BANYAN_ASSIGN_OR_RETURN(table.counts.emplace_back(),
                            ReadCandidates(one, table.drafters.size()));
  }
  BANYAN_RETURN_IF_ERROR(CheckRows(item, table));
  if (table.drafters.size() == 1)
    BANYAN_RETURN_IF_ERROR(CheckRanks(item, table));
  return table;
}

absl::StatusOr<HeadTable> ReadHeads(const Params& item, Provenance from) {
  ParamsReader in(item, "heads");
  HeadTable table = {.from = std::move(from), .place = item.origin()};
  TakeSetting(in, /*has_temperature=*/true, table.setting);
  in.Required("drafter", table.drafter.label);
  table.drafter.kind = table.drafter.label;
  in.Optional("kind", table.drafter.kind);
  const Params* positions = in.TakeRequired("positions");
  std::vector<Params> hits;
  in.Required("hits", hits);
  TakeProvenance(in, table.from);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  BANYAN_ASSIGN_OR_RETURN(table.positions, ReadCounts(*positions));
  for (const Params& head : hits) {
    BANYAN_ASSIGN_OR_RETURN(table.hits.emplace_back(), ReadCounts(head));
  }
  bool agree = table.hits.size() == table.positions.size();
  for (std::size_t head = 0; agree && head < table.hits.size(); ++head) {
    std::int64_t sum = 0;
    for (const std::int64_t count : table.hits[head]) sum += count;
    agree = table.positions[head] > 0 && sum <= table.positions[head];
  }
  if (!agree)
    return positions->Error(
        "heads: expected a number for each list of `hits`, no less than their "
        "sum");
  return table;
}

absl::StatusOr<ChainLength> ReadChain(const Params& item, Provenance from) {
  ParamsReader in(item, "chains");
  ChainLength chain = {.from = std::move(from)};
  in.Required("target", chain.target);
  in.Required("drafter", chain.drafter);
  in.Required("temperature", chain.temperature);
  in.Required("length", chain.length);
  in.Ensure(chain.length >= 1 && chain.length <= kMaxDraws, "length",
            absl::StrCat("must lie between 1 and ", kMaxDraws));
  in.Required("speed", chain.speed);
  TakeProvenance(in, chain.from);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  return chain;
}

absl::Status AddAcceptance(const Params& item, AcceptanceTable table,
                           std::vector<AcceptanceTable>& tables) {
  for (const AcceptanceTable& other : tables)
    if (other.setting == table.setting && other.drafters == table.drafters)
      return item.Error(absl::StrCat(
          "acceptance: a second table of ",
          absl::StrJoin(table.drafters, " and ",
                        [](std::string* out, const CountedDrafter& drafter) {
                          absl::StrAppend(out, drafter.label, " (",
                                          drafter.draws, ")");
                        }),
          " on ", table.setting.target, " at temperature ",
          table.setting.temperature.has_value()
              ? absl::StrCat(*table.setting.temperature)
              : std::string("any")));
  tables.push_back(std::move(table));
  return absl::OkStatus();
}

absl::Status AddTables(const Params& file, Costs& costs) {
  ParamsReader in(file, "costs");
  Provenance from;
  TakeProvenance(in, from);
  for (const absl::string_view name : kTables) in.Take(name);
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const auto each =
      [&](absl::string_view name,
          absl::FunctionRef<absl::Status(const Params&)> read) -> absl::Status {
    const Params* list = file.Find(name);
    return list == nullptr ? absl::OkStatus() : ForEachTable(*list, read);
  };
  BANYAN_RETURN_IF_ERROR(each("passes", [&](const Params& item) {
    BANYAN_ASSIGN_OR_RETURN(costs.passes.emplace_back(),
                            ReadPasses(item, from));
    return absl::OkStatus();
  }));
  BANYAN_RETURN_IF_ERROR(each("levels", [&](const Params& item) {
    return ReadLevels(item, from, costs.levels);
  }));
  BANYAN_RETURN_IF_ERROR(
      each("acceptance", [&](const Params& item) -> absl::Status {
        BANYAN_ASSIGN_OR_RETURN(AcceptanceTable table,
                                ReadAcceptance(item, from));
        return AddAcceptance(item, std::move(table), costs.acceptance);
      }));
  BANYAN_RETURN_IF_ERROR(each("heads", [&](const Params& item) -> absl::Status {
    BANYAN_ASSIGN_OR_RETURN(HeadTable table, ReadHeads(item, from));
    for (const HeadTable& other : costs.heads)
      if (other.setting == table.setting && other.drafter == table.drafter)
        return item.Error(absl::StrCat("heads: a second table of ",
                                       table.drafter.label, " on ",
                                       table.setting.target));
    costs.heads.push_back(std::move(table));
    return absl::OkStatus();
  }));
  BANYAN_RETURN_IF_ERROR(each("chains", [&](const Params& item) {
    BANYAN_ASSIGN_OR_RETURN(costs.chains.emplace_back(), ReadChain(item, from));
    return absl::OkStatus();
  }));
  if (const Params* rates = file.Find("rates")) costs.rates = *rates;
  return absl::OkStatus();
}

}  // namespace

bool IsCosts(const Params& value) {
  if (value.kind() == Params::Kind::kList)
    return !value.items().empty() &&
           std::all_of(value.items().begin(), value.items().end(), IsCosts);
  // A policy has keys of such names too: `levels` is a number, and
  // `acceptance` may be a list of costs.
  return std::any_of(
      std::begin(kTables), std::end(kTables), [&](absl::string_view name) {
        const Params* list = value.Find(name);
        return list != nullptr && !list->items().empty() &&
               list->items().front().kind() == Params::Kind::kMap &&
               !IsCosts(list->items().front());
      });
}

absl::StatusOr<Costs> ReadCosts(const Params& value) {
  Costs costs;
  if (value.kind() == Params::Kind::kList) {
    for (const Params& item : value.items())
      BANYAN_RETURN_IF_ERROR(AddTables(item, costs));
    return costs;
  }
  if (value.kind() != Params::Kind::kMap)
    return value.Expected("the tables that `banyan measure` writes");
  BANYAN_RETURN_IF_ERROR(AddTables(value, costs));
  return costs;
}

}  // namespace banyan
