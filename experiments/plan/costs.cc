#include "experiments/plan/costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"

namespace banyan {
namespace {

double Share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

std::int64_t AtRank(const std::vector<std::int64_t>& counts, std::size_t rank) {
  return rank < counts.size() ? counts[rank] : 0;
}

bool IsOfOne(const AcceptanceTable& table) {
  return table.drafters.size() == 1;
}

// A part of what tables are asked for, of a table of one drafter.
struct Part {
  absl::string_view name;
  std::string (*asked)(const CostQuestion& question);
  std::string (*has)(const AcceptanceTable& table);
};

constexpr Part kParts[] = {
    {"drafter",
     [](const CostQuestion& question) { return question.drafter.label; },
     [](const AcceptanceTable& table) { return table.drafters.front().label; }},
    {"target", [](const CostQuestion& question) { return question.target; },
     [](const AcceptanceTable& table) { return table.setting.target; }},
    {"weights", [](const CostQuestion& question) { return question.weights; },
     [](const AcceptanceTable& table) { return table.setting.weights; }},
    {"temperature",
     [](const CostQuestion& question) {
       return question.temperature.has_value()
                  ? absl::StrCat(*question.temperature)
                  : std::string();
     },
     [](const AcceptanceTable& table) {
       return table.setting.temperature.has_value()
                  ? absl::StrCat(*table.setting.temperature)
                  : std::string();
     }},
    {"draws",
     [](const CostQuestion& question) { return question.drafter.draws; },
     [](const AcceptanceTable& table) { return table.drafters.front().draws; }},
};

// How ill a table fits, by what counts most; less is better.
using Misfit = std::array<double, 7>;

// A table that does not say fits less well than one that says what is asked.
constexpr double kUnsaid = .5;

double Off(const std::string& asked, const std::string& has) {
  if (asked.empty() || asked == has) return 0;
  return has.empty() ? kUnsaid : 1;
}

double Off(std::optional<double> asked, std::optional<double> has) {
  if (!asked.has_value()) return 0;
  return has.has_value() ? std::fabs(*asked - *has) : kUnsaid;
}

// The misfit of a setting, after that of the drafter.
Misfit MisfitOf(double drafter, const CostSetting& setting,
                const std::string& draws, const CostQuestion& question) {
  return {drafter,
          Off(question.target, setting.target),
          Off(question.weights, setting.weights),
          Off(question.memory, setting.memory),
          std::fabs(static_cast<double>(question.batch - setting.batch)),
          Off(question.temperature, setting.temperature),
          Off(question.drafter.draws, draws)};
}

// The first of the tables with the least misfit; null: none fits.
template <typename Table>
const Table* BestOf(const std::vector<Table>& tables,
                    absl::FunctionRef<std::optional<Misfit>(const Table&)> of) {
  const Table* best = nullptr;
  Misfit least{};
  for (const Table& table : tables) {
    const std::optional<Misfit> misfit = of(table);
    if (!misfit.has_value() || (best != nullptr && !(*misfit < least)))
      continue;
    best = &table;
    least = *misfit;
  }
  return best;
}

// 0 for the drafter itself, 1 for one of its kind.
std::optional<double> MisfitOf(const CountedDrafter& has,
                               const CostQuestion& question) {
  if (question.drafter.label.empty() || has.label == question.drafter.label)
    return 0;
  if (has.kind == KindOf(question.drafter.kind)) return 1;
  return std::nullopt;
}

}  // namespace

std::string KindOf(const std::string& title) {
  return title.substr(0, title.find('('));
}

double AcceptanceTable::Drafted() const {
  for (const CandidateCounts& one : counts)
    if (one.depth == 1) return Share(AtRank(one.judged, 0), rounds);
  return 0;
}

std::vector<double> AcceptanceTable::ByDepth() const {
  std::vector<double> shares;
  for (int depth = 1;; ++depth) {
    const auto at = std::find_if(
        counts.begin(), counts.end(),
        [&](const CandidateCounts& one) { return one.depth == depth; });
    if (at == counts.end() || AtRank(at->judged, 0) == 0) return shares;
    shares.push_back(Share(AtRank(at->accepted, 0), at->judged[0]));
  }
}

std::vector<double> AcceptanceTable::ByRank() const {
  std::vector<double> shares;
  double left = 1;  // that every lower rank was refused
  for (std::size_t rank = 0;; ++rank) {
    std::int64_t judged = 0;
    std::int64_t accepted = 0;
    for (const CandidateCounts& one : counts) {
      judged += AtRank(one.judged, rank);
      accepted += AtRank(one.accepted, rank);
    }
    if (judged == 0) return shares;
    const double share = Share(accepted, judged);
    shares.push_back(left * share);
    left *= 1 - share;
  }
}

std::vector<std::vector<double>> HeadTable::Accuracies() const {
  std::vector<std::vector<double>> shares;
  for (std::size_t head = 0; head < hits.size(); ++head) {
    std::vector<double>& own = shares.emplace_back();
    for (const std::int64_t count : hits[head])
      own.push_back(Share(count, positions[head]));
  }
  return shares;
}

absl::StatusOr<AcceptanceTable> FindAcceptance(const Costs& costs,
                                               const CostQuestion& question) {
  std::vector<const AcceptanceTable*> left;
  for (const AcceptanceTable& table : costs.acceptance)
    if (IsOfOne(table)) left.push_back(&table);
  if (left.empty())
    return absl::NotFoundError(
        "the costs have no acceptance of a single drafter; `banyan measure "
        "FILE --out costs.yaml` counts it, and `costs: !include costs.yaml` "
        "reads it");
  std::string shared;  // by all that are left
  for (const Part& part : kParts) {
    const std::string asked = part.asked(question);
    if (asked.empty()) continue;
    std::set<std::string> found;
    std::vector<const AcceptanceTable*> kept;
    for (const AcceptanceTable* table : left) {
      const std::string has = part.has(*table);
      found.insert(has);
      if (has.empty() || has == asked) kept.push_back(table);
    }
    if (kept.empty())
      return absl::NotFoundError(
          absl::StrCat("costs: no acceptance of ", part.name, " ", asked,
                       shared.empty() ? "" : " for ", shared,
                       "; the tables have ", absl::StrJoin(found, " or ")));
    left = std::move(kept);
    absl::StrAppend(&shared, shared.empty() ? "" : ", ", part.name, " ", asked);
  }
  return *left.front();
}

const AcceptanceTable* BestAcceptance(const Costs& costs,
                                      const CostQuestion& question) {
  return BestOf<AcceptanceTable>(
      costs.acceptance,
      [&](const AcceptanceTable& table) -> std::optional<Misfit> {
        if (!IsOfOne(table)) return std::nullopt;
        const CountedDrafter& drafter = table.drafters.front();
        const std::optional<double> of = MisfitOf(drafter, question);
        if (!of.has_value()) return std::nullopt;
        return MisfitOf(*of, table.setting, drafter.draws, question);
      });
}

const HeadTable* BestHeads(const Costs& costs, const CostQuestion& question) {
  return BestOf<HeadTable>(
      costs.heads, [&](const HeadTable& table) -> std::optional<Misfit> {
        const std::optional<double> of = MisfitOf(table.drafter, question);
        if (!of.has_value()) return std::nullopt;
        return MisfitOf(*of, table.setting, table.drafter.draws, question);
      });
}

const LevelCosts* BestLevel(const Costs& costs, const CostQuestion& question) {
  std::vector<std::string> names = {question.drafter.label,
                                    question.drafter.kind,
                                    KindOf(question.drafter.kind)};
  for (const AcceptanceTable& table : costs.acceptance)
    for (const CountedDrafter& drafter : table.drafters)
      if (drafter.kind == names[2]) names.push_back(drafter.label);
  names.push_back(kAnyDrafter);
  const bool any =
      question.drafter.label.empty() && question.drafter.kind.empty();
  return BestOf<LevelCosts>(
      costs.levels, [&](const LevelCosts& level) -> std::optional<Misfit> {
        const auto at = std::find(names.begin(), names.end(), level.drafter);
        if (any) return MisfitOf(0, level.setting, level.draws, question);
        if (at == names.end()) return std::nullopt;
        return MisfitOf(static_cast<double>(at - names.begin()), level.setting,
                        level.draws, question);
      });
}

const PassCosts* BestPasses(const Costs& costs, const CostQuestion& question) {
  return BestOf<PassCosts>(
      costs.passes, [&](const PassCosts& passes) -> std::optional<Misfit> {
        return MisfitOf(0, passes.setting, "", question);
      });
}

}  // namespace banyan
