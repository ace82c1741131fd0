// How often a drafter's tokens are accepted on a target, by depth and by rank:
// what `banyan fastest --acceptance` counts in records, and what an experiment
// reads as `acceptance: !include FILE`.
#ifndef BANYAN_EXPERIMENTS_PLAN_ACCEPTANCE_H_
#define BANYAN_EXPERIMENTS_PLAN_ACCEPTANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"

namespace banyan {

// A table holds for one drafter on one target in one format, at one temperature
// and for one kind of draws.
struct AcceptanceKey {
  std::string target;   // its directory's name
  std::string weights;  // bf16
  std::string drafter;  // as compare.chains names it (DrafterLabel)
  double temperature = 1;
  std::string draws;  // independent

  bool operator==(const AcceptanceKey&) const = default;
};

struct AcceptanceTable {
  AcceptanceKey key;
  std::int64_t rounds = 0;  // those in which nothing was drafted too
  // reached[d - 1][r - 1]: the number of verified nodes with at least r draws
  // at depth d. accepted[d - 1][r - 1]: how often the r-th draw was accepted.
  std::vector<std::vector<std::int64_t>> reached;
  std::vector<std::vector<std::int64_t>> accepted;

  // The share of the rounds in which something was drafted.
  double Drafted() const;
  // Of the first rank, by depth, given that all before it were accepted: up to
  // the first depth that was not reached.
  std::vector<double> ByDepth() const;
  // Probability that the draw of each rank is the accepted one, pooled over
  // depths (`acceptance` in sequoia.h). If depths have different numbers of
  // draws, a rank counts only nodes where all lower ranks were rejected.
  std::vector<double> ByRank() const;
};

// A list of tables, or of such lists. Fails on tables that cannot be and on two
// of one key.
absl::StatusOr<std::vector<AcceptanceTable>> ReadAcceptance(
    const Params& section);
std::string ToYaml(const std::vector<AcceptanceTable>& tables);

// A table of this key. Empty `weights` or `draws` match any. The error names
// what the tables lack (the drafter, the target, its format, the temperature or
// the draws) and what they have.
absl::StatusOr<AcceptanceTable> FindAcceptance(
    const std::vector<AcceptanceTable>& tables, const AcceptanceKey& key);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_ACCEPTANCE_H_
