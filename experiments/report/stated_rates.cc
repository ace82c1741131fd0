#include "experiments/report/stated_rates.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/json/json_value.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/plan/costs.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/table.h"

namespace banyan {
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
