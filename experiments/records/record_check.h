// Whether a record agrees with itself. Checksums find damage; this finds a
// record that some program wrote wrongly, before a metric counts it.
#ifndef BANYAN_EXPERIMENTS_RECORDS_RECORD_CHECK_H_
#define BANYAN_EXPERIMENTS_RECORDS_RECORD_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "experiments/records/record.pb.h"

namespace banyan {

// The most parts that an experiment is cut into: what scripts/slurm takes.
// Reports name those that are missing.
inline constexpr std::uint32_t kMostShards = 4'000'001;

// OK, or what is wrong: every cell has a name of its own and a baseline that is
// a cell without trunks, and there are no more than kMostShards shards.
absl::Status CheckContext(const records::Context& context);

// OK, or what is wrong. Requires a checked context. What holds of a record:
//   1. Its cell is one of the context's.
//   2. Every round's tree stands parents first, its lists name nodes and trunks
//      that exist, and a kept draw points to a child with its token.
//   3. The path leads down from the root, and what the rounds emitted is the
//      record's tokens: there is one counter of tokens.
//   4. Log-probabilities and gaps are given for all tokens or for none, target
//      probabilities for all nodes of a round or for none.
//   5. No time is negative; drafting has one for every trunk.
//   6. What was learnt is of every trunk or of none, and stores are of trunks.
//   7. Stop rules and kinds of draws are of those that record.proto names.
absl::Status CheckRecord(const records::PromptRecord& record,
                         const records::Context& context);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_RECORD_CHECK_H_
