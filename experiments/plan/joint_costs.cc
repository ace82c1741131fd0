#include "experiments/plan/joint_costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/common.h"

namespace banyan {
namespace {

// How many draws the depth above counts for, where few were judged.
constexpr double kPrior = 8;

// To places that were counted; down, so that no sum grows.
double Rounded(double chance) { return std::floor(chance * 1e4) / 1e4; }

// Of a node that is reached, where the drafter proposes at this share of them.
void LessenBy(double share, std::vector<double>& hazards) {
  double left = 1;         // where it proposes
  double left_of_all = 1;  // of all nodes
  for (double& hazard : hazards) {
    const double chance = left * hazard;
    left -= chance;
    hazard = Rounded(std::min(share * chance / left_of_all, 1.0));
    left_of_all -= share * chance;
  }
}

// By depth and draw. A drafter need not propose at every node: where the text
// has no match, say. Tables say so at the root, and below the second level,
// where only chains draw.
std::vector<std::vector<double>> HazardsOf(const AcceptanceTable& table) {
  std::vector<std::vector<double>> hazards;
  std::vector<double> reached;  // first draws accepted, by depth
  std::vector<double> shares;   // of reached nodes at which it proposes
  for (int depth = 1;; ++depth) {
    std::vector<double> judged;
    std::vector<double> accepted;
    for (const CandidateCounts& one : table.counts) {
      if (one.depth != depth) continue;
      judged.resize(std::max(judged.size(), one.judged.size()));
      accepted.resize(judged.size());
      for (std::size_t i = 0; i < one.judged.size(); ++i) {
        judged[i] += static_cast<double>(one.judged[i]);
        accepted[i] += static_cast<double>(one.accepted[i]);
      }
    }
    if (judged.empty() || judged.front() == 0) break;
    double share = table.Drafted();
    if (depth > 2 && reached.back() > 0)
      share = std::min(1.0, judged.front() / reached.back());
    shares.push_back(share);
    reached.push_back(accepted.front());
    std::vector<double>& own = hazards.emplace_back();
    for (std::size_t i = 0; i < judged.size(); ++i) {
      // At depth 1 a draw is like the one before it, deeper like the one above.
      const bool first = hazards.size() == 1;
      double prior = 0.5;
      if (first && i > 0) prior = own[i - 1];
      if (!first && i < hazards[hazards.size() - 2].size())
        prior = hazards[hazards.size() - 2][i];
      own.push_back(
          Rounded((accepted[i] + kPrior * prior) / (judged[i] + kPrior)));
    }
  }
  if (hazards.empty()) hazards.push_back({0});
  if (shares.size() > 1) shares[1] = shares.size() > 2 ? shares[2] : 1;
  for (std::size_t i = 0; i < shares.size(); ++i)
    LessenBy(shares[i], hazards[i]);
  return hazards;
}

// Which of our drafters a table's is; -1: none.
std::vector<int> Places(const AcceptanceTable& table,
                        const std::vector<std::string>& labels) {
  std::vector<int> places;
  for (const CountedDrafter& drafter : table.drafters) {
    const auto found = std::find(labels.begin(), labels.end(), drafter.label);
    places.push_back(
        found == labels.end() ? -1 : static_cast<int>(found - labels.begin()));
  }
  return places;
}

// The set of our drafters that proposed the token.
std::size_t SetOf(const CandidateCounts& one, const std::vector<int>& places) {
  std::size_t set = 0;
  const auto add = [&](int drafter) {
    const int place = places[static_cast<std::size_t>(drafter)];
    if (place >= 0) set |= std::size_t{1} << place;
  };
  add(one.drafter);
  for (const int other : one.also) add(other);
  return set;
}

// The most draws of a drafter at the root.
std::size_t Draws(const AcceptanceTable& table) {
  std::size_t most = 0;
  for (const CandidateCounts& one : table.counts)
    if (one.depth == 1) most = std::max(most, one.judged.size());
  return most;
}

}  // namespace

absl::StatusOr<AcceptanceTable> FindTogether(
    const Costs& costs, const CostQuestion& question,
    const std::vector<std::string>& labels) {
  const AcceptanceTable* best = nullptr;
  std::set<std::string> others;
  for (const AcceptanceTable& table : costs.acceptance) {
    if (table.drafters.size() < 2) continue;
    std::vector<std::string> own;
    for (const CountedDrafter& drafter : table.drafters)
      own.push_back(drafter.label);
    const std::vector<int> places = Places(table, labels);
    const bool has_all = std::all_of(
        labels.begin(), labels.end(), [&](const std::string& label) {
          return std::find(own.begin(), own.end(), label) != own.end();
        });
    const bool fits =
        (table.setting.target.empty() || question.target.empty() ||
         table.setting.target == question.target) &&
        (!table.setting.temperature.has_value() ||
         !question.temperature.has_value() ||
         *table.setting.temperature == *question.temperature);
    if (!has_all || !fits) {
      others.insert(absl::StrCat(
          absl::StrJoin(own, ", "), " on ", table.setting.target,
          table.setting.temperature.has_value()
              ? absl::StrCat(" at temperature ", *table.setting.temperature)
              : ""));
      continue;
    }
    // Where each draws once a token is the first of all that have it.
    const auto order = [](const AcceptanceTable& of) {
      return std::make_pair(Draws(of), of.drafters.size());
    };
    if (best == nullptr || order(table) < order(*best)) best = &table;
  }
  if (best != nullptr) return *best;
  return absl::NotFoundError(absl::StrCat(
      "costs: no acceptance of drafters ", absl::StrJoin(labels, ", "),
      " in one tree on ", question.target,
      question.temperature.has_value()
          ? absl::StrCat(" at temperature ", *question.temperature)
          : "",
      "; `banyan measure FILE --out costs.yaml` counts it where FILE has a "
      "method of these drafters; the tables have ",
      others.empty() ? "none of several drafters"
                     : absl::StrJoin(others, "; ")));
}

JointNumbers CountJointly(const std::vector<AcceptanceTable>& alone,
                          const AcceptanceTable* together,
                          const std::vector<std::string>& labels) {
  JointNumbers numbers;
  for (const AcceptanceTable& table : alone)
    numbers.alone.push_back(HazardsOf(table));
  if (together == nullptr) return numbers;
  const std::vector<int> places = Places(*together, labels);
  const std::size_t count = labels.size();
  const std::size_t sets = std::size_t{1} << count;
  // First draws that were accepted, by who had the token, at the root; and
  // there and deeper those that were accepted and refused.
  std::vector<double> right(sets, 0);
  std::vector<double> first_right(sets, 0.5);
  std::vector<double> first_wrong(sets, 0.5);
  for (const CandidateCounts& one : together->counts) {
    const std::size_t set = SetOf(one, places);
    if (set == 0) continue;
    if (one.judged.empty()) continue;
    const auto accepted = static_cast<double>(one.accepted.front());
    if (one.depth == 1) right[set] += accepted;
    first_right[set] += accepted;
    first_wrong[set] += static_cast<double>(one.judged.front()) - accepted;
  }
  const auto rounds =
      static_cast<double>(std::max<std::int64_t>(together->rounds, 1));
  double sum = 0;
  numbers.together.assign(sets, 0);
  for (std::size_t set = 1; set < sets; ++set) {
    numbers.together[set] = Rounded(std::min(right[set] / rounds, 1 - sum));
    sum += numbers.together[set];
  }
  numbers.together[0] = Rounded(std::max(0.0, 1 - sum));
  const auto agreement = [&](const std::vector<double>& by_set) {
    JointAcceptance::Matrix shares(count, std::vector<double>(count, 1));
    for (std::size_t d = 0; d < count; ++d)
      for (std::size_t e = 0; e < count; ++e) {
        if (d == e) continue;
        double own = 0;
        double both = 0;
        for (std::size_t set = 1; set < sets; ++set) {
          if ((set >> d & 1) == 0) continue;
          own += by_set[set];
          both += (set >> e & 1) != 0 ? by_set[set] : 0;
        }
        shares[d][e] = Rounded(both / own);
      }
    return shares;
  };
  numbers.agree_right = agreement(first_right);
  numbers.agree_wrong = agreement(first_wrong);
  return numbers;
}

}  // namespace banyan
