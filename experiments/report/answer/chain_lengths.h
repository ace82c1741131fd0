// The length at which each drafter's chain was fastest, from records of chains
// of several lengths: what `compare.chains` of an experiment reads.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_CHAIN_LENGTHS_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_CHAIN_LENGTHS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/plan/opponents.h"
#include "experiments/records/record_set.h"

namespace banyan {

// By target, drafter and temperature, in the order of the cells. Of cells of
// one length the faster one counts. Fails if no lossless cell is a chain,
// and on records of several machines.
absl::StatusOr<std::vector<ChainLength>> FastestChains(const RecordSet& set);

// As YAML, with where it comes from above it.
std::string ToYaml(const std::vector<ChainLength>& lengths,
                   const RecordSet& set);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_CHAIN_LENGTHS_H_
