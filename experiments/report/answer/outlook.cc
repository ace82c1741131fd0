#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/report/answer/verdict.h"
#include "experiments/report/page/html_page.h"
#include "experiments/report/stated_costs.h"

namespace banyan {
namespace {

struct ShippedCosts {
  const char* where;
  const char* file;
};
constexpr ShippedCosts kShipped[] = {
    {"where a pass of many tokens costs what one of one token does",
     "flat.yaml"},
    {"on an NVIDIA H200 with 1.1 billion parameters", "h200_1b.yaml"},
    {"on two cores with 1.1 billion parameters", "cpu_1100m.yaml"}};

// Every cell's prompts at one file's costs, stated when first asked for.
class StatedCells {
 public:
  explicit StatedCells(const StatedCosts& costs) : costs_(costs) {}

  // Null where the costs do not cover the cell.
  const std::vector<PromptPair>* Find(const CellRecords& cell) {
    const auto [at, is_new] = pairs_.try_emplace(&cell);
    if (is_new) {
      absl::StatusOr<std::vector<PromptPair>> pairs =
          WithStatedTimes(costs_, cell);
      if (pairs.ok()) at->second = *std::move(pairs);
    }
    return at->second.has_value() ? &*at->second : nullptr;
  }

 private:
  const StatedCosts& costs_;
  std::map<const CellRecords*, std::optional<std::vector<PromptPair>>> pairs_;
};

Outlook OutlookAt(const ShippedCosts& shipped,
                  absl::Span<const Contest> contests) {
  const std::optional<absl::string_view> text = PageFile(shipped.file);
  Check(text.has_value(), shipped.file);
  const absl::StatusOr<StatedCosts> costs =
      ReadStatedCosts(*text, shipped.file);
  Check(costs.ok(), costs.status().ToString());
  const MetricRow& speed = **FindMetric(kPredictedByCurve);
  StatedCells cells(*costs);
  Outlook outlook = {.where = shipped.where, .file = shipped.file};
  std::vector<std::pair<const Contest*, std::vector<Difference>>> compared;
  for (const Contest& contest : contests) {
    const std::vector<PromptPair>* own = cells.Find(*contest.rival);
    std::vector<Difference> differences;
    for (const CellRecords* other : contest.others) {
      const std::vector<PromptPair>* theirs = cells.Find(*other);
      if (own == nullptr || theirs == nullptr) continue;
      differences.push_back(Compare(speed, *own, *theirs, costs->name));
    }
    if (differences.empty())
      ++outlook.unknown;
    else
      compared.emplace_back(&contest, std::move(differences));
  }
  std::vector<Difference*> family;
  for (auto& [contest, differences] : compared)
    for (Difference& difference : differences) family.push_back(&difference);
  Decide(family);
  for (const auto& [contest, differences] : compared) {
    const auto is = [](Judgement verdict) {
      return [verdict](const Difference& difference) {
        return difference.verdict == verdict;
      };
    };
    ++outlook.score.all;
    if (std::any_of(differences.begin(), differences.end(),
                    is(Judgement::kLess)))
      ++outlook.score.less;
    if (!std::all_of(differences.begin(), differences.end(),
                     is(Judgement::kMore)))
      continue;
    ++outlook.score.more;
    outlook.score.winners.push_back(contest->name);
  }
  return outlook;
}

}  // namespace

std::vector<Outlook> Outlooks(absl::Span<const Contest> contests) {
  std::vector<Outlook> outlooks;
  for (const ShippedCosts& shipped : kShipped)
    outlooks.push_back(OutlookAt(shipped, contests));
  return outlooks;
}

}  // namespace banyan
