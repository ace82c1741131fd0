#include "tree/optimize/joint_acceptance.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/common.h"

namespace banyan {
namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

bool IsChance(double p) { return p >= 0 && p <= 1; }

// By draw: the chance that it is the accepted one.
std::vector<double> Chances(const std::vector<double>& hazards) {
  std::vector<double> chances;
  double left = 1;
  for (const double hazard : hazards) {
    chances.push_back(left * hazard);
    left *= 1 - hazard;
  }
  return chances;
}

// By the number of draws: the chance that none after the first is right where
// that one is not.
std::vector<double> Misses(const std::vector<double>& chances) {
  std::vector<double> misses = {1};
  const double without = 1 - chances.front();
  double sum = 0;
  for (std::size_t draws = 1; draws <= chances.size(); ++draws) {
    if (draws > 1) sum += chances[draws - 1];
    misses.push_back(without > 0 ? 1 - std::min(sum / without, 1.0) : 0);
  }
  return misses;
}

double Sum(absl::Span<const double> numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

absl::Status Wrong(absl::string_view key, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": expected ", expected));
}

absl::Status CheckMatrix(absl::string_view key,
                         const JointAcceptance::Matrix& matrix,
                         std::size_t drafters) {
  if (matrix.empty()) return absl::OkStatus();
  bool square = matrix.size() == drafters;
  for (const std::vector<double>& row : matrix) {
    square = square && row.size() == drafters;
    if (!std::all_of(row.begin(), row.end(), IsChance))
      return Wrong(key, "numbers from 0 to 1");
  }
  return square ? absl::OkStatus()
                : Wrong(key, "a row for each drafter, with a number for each");
}

}  // namespace

absl::Status JointAcceptance::Check(const Hazards& alone,
                                    const std::vector<double>& together,
                                    const Matrix& agree_right,
                                    const Matrix& agree_wrong) {
  const std::size_t drafters = alone.size();
  if (drafters == 0 || drafters > At(kMostDrafters))
    return Wrong("alone",
                 absl::StrCat("lists of 1 to ", kMostDrafters, " drafters"));
  for (const auto& by_depth : alone) {
    if (by_depth.empty() || by_depth.front().empty())
      return Wrong("alone", "a list of draws at depth 1 of each drafter");
    for (const std::vector<double>& hazards : by_depth)
      if (hazards.empty() ||
          !std::all_of(hazards.begin(), hazards.end(), IsChance))
        return Wrong("alone", "numbers from 0 to 1, one or more a depth");
  }
  if (together.empty() && drafters > 1)
    return Wrong("together", "a number for each set of drafters");
  if (!together.empty()) {
    if (together.size() != std::size_t{1} << drafters)
      return Wrong("together", absl::StrCat(std::size_t{1} << drafters,
                                            " numbers, one a set of drafters"));
    if (!std::all_of(together.begin(), together.end(), IsChance) ||
        Sum(together) > 1 + 1e-6)
      return Wrong("together", "chances that sum to at most 1");
  }
  const absl::Status right = CheckMatrix("agree_right", agree_right, drafters);
  return right.ok() ? CheckMatrix("agree_wrong", agree_wrong, drafters) : right;
}

JointAcceptance::JointAcceptance(const Hazards& alone,
                                 const std::vector<double>& together,
                                 const Matrix& agree_right,
                                 const Matrix& agree_wrong)
    : agree_right_(agree_right), agree_wrong_(agree_wrong) {
  for (const auto& by_depth : alone) {
    chances_.push_back(Chances(by_depth.front()));
    misses_.push_back(Misses(chances_.back()));
    const double first = chances_.back().front();
    std::vector<double>& fades = fades_.emplace_back();
    for (const std::vector<double>& hazards : by_depth)
      fades.push_back(first > 0 ? hazards.front() / first : 0);
  }
  const std::size_t count = alone.size();
  totals_.assign(std::size_t{1} << count, 0);
  for (std::size_t set = 1; set < totals_.size(); ++set) {
    const bool single = (set & (set - 1)) == 0;
    for (std::size_t other = 1; other < together.size() && !single; ++other)
      if ((set & other) != 0) totals_[set] += together[other];
    for (std::size_t d = 0; d < count; ++d)
      if ((set >> d & 1) != 0)
        totals_[set] = std::max(totals_[set], chances_[d].front());
  }
  agrees_.assign(count, std::vector<double>(count, 1));
  for (std::size_t d = 0; d < count; ++d)
    for (std::size_t e = 0; e < count; ++e) {
      double other = 0;
      double both = 0;
      for (std::size_t set = 0; set < together.size(); ++set) {
        if ((set >> e & 1) == 0) continue;
        other += together[set];
        both += (set >> d & 1) != 0 ? together[set] : 0;
      }
      if (d != e) agrees_[d][e] = other > 0 ? both / other : 0;
    }
  others_miss_.assign(count, std::vector<double>(count, 1));
  for (std::size_t d = 0; d < count; ++d)
    for (std::size_t e = 0; e < count; ++e) {
      const std::size_t own = std::size_t{1} << d;
      const double refused = 1 - totals_[own];
      if (e != d && refused > 0)
        others_miss_[d][e] =
            1 - (totals_[own | std::size_t{1} << e] - totals_[own]) / refused;
    }
}

double JointAcceptance::Fade(int drafter, int streak) const {
  const std::vector<double>& fades = fades_[At(drafter)];
  return fades[std::min(At(streak), fades.size() - 1)];
}

double JointAcceptance::FadeAt(int drafter, int depth,
                               const Standing& standing) const {
  return standing.on * Fade(drafter, depth) +
         (1 - standing.on) * Fade(drafter, standing.run);
}

double JointAcceptance::Gain(int drafter, double fade,
                             absl::Span<const int> draws) const {
  const std::vector<double>& chances = chances_[At(drafter)];
  const auto next = At(draws[At(drafter)]);
  if (next >= chances.size()) return 0;
  double gain = fade;
  std::size_t drew = 0;  // the others
  for (int e = 0; e < drafters(); ++e) {
    if (e == drafter || draws[At(e)] == 0) continue;
    drew |= std::size_t{1} << e;
    const std::vector<double>& misses = misses_[At(e)];
    gain *= misses[std::min(At(draws[At(e)]), misses.size() - 1)];
    if (next > 0) gain *= others_miss_[At(drafter)][At(e)];
  }
  if (next > 0) return std::min(gain * chances[next], 1.0);
  const double first =
      totals_[drew | std::size_t{1} << drafter] - totals_[drew];
  return std::clamp(gain * first, 0.0, 1.0);
}

double JointAcceptance::Given(int drafter, double chance,
                              absl::Span<const int> agrees) const {
  if (agree_right_.empty() || agree_wrong_.empty()) return chance;
  double right = chance;
  double wrong = 1 - chance;
  for (int e = 0; e < drafters(); ++e) {
    if (e == drafter || agrees[At(e)] < 0) continue;
    const double of_right = agree_right_[At(drafter)][At(e)];
    const double of_wrong = agree_wrong_[At(drafter)][At(e)];
    right *= agrees[At(e)] == 1 ? of_right : 1 - of_right;
    wrong *= agrees[At(e)] == 1 ? of_wrong : 1 - of_wrong;
  }
  return right + wrong > 0 ? right / (right + wrong) : chance;
}

}  // namespace banyan
