// What records say of drafters, for later experiments: the length at which each
// drafter's chain was fastest (`compare.chains`), and how often its tokens were
// accepted (`acceptance`).
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_CHAIN_LENGTHS_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_CHAIN_LENGTHS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/plan/acceptance.h"
#include "experiments/plan/compare.h"
#include "experiments/records/record_set.h"

namespace banyan {

// By target, drafter and temperature, in the order of the cells. Of cells of
// one length the faster one counts. Fails if no lossless cell is a chain,
// and on records of several machines.
absl::StatusOr<std::vector<ChainLength>> FastestChains(const RecordSet& set);

// As YAML, with where it comes from above it.
std::string ToYaml(const std::vector<ChainLength>& lengths,
                   const RecordSet& set);

// How often tokens were accepted, by depth and rank, in all lossless cells of
// one drafter. Fails if there are none.
absl::StatusOr<std::vector<AcceptanceTable>> CountAcceptance(
    const RecordSet& set);

// The same for them.
std::string ToYaml(const std::vector<AcceptanceTable>& tables,
                   const RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_CHAIN_LENGTHS_H_
