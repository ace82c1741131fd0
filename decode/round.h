// One round of speculation: draft, derive, score, verify, commit, record.
#ifndef BANYAN_DECODE_ROUND_H_
#define BANYAN_DECODE_ROUND_H_

#include <cstddef>
#include <vector>

#include "core/base/common.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/phase_timer.h"
#include "decode/sequence.h"
#include "drafters/drafting.h"

namespace banyan {

DraftLimits LimitsOf(const Sequence& sequence);
// What a sequence drafts with in a trunk.
TrunkView ViewOf(const Method& method, const Sequence& sequence,
                 std::size_t trunk);
// An error that a drafter's numbers are none also says whose.
absl::Status Naming(const Trunk& trunk, absl::Status status);

// By sequence: its record, or an error for one whose commit failed or whose
// drafter could not observe it. That sequence has failed; the others go on.
using RoundRecords = std::vector<absl::StatusOr<RoundRecord>>;

// Runs one round of several sequences, which share every pass, and commits it.
// What a sequence draws, scores and keeps does not depend on the others.
// Requires that each is there once, has not stopped and is not on a device.
// Fails with nothing committed, and the round may be run again. `timer` was
// made when the round began.
absl::StatusOr<RoundRecords> RunRound(const Method& method,
                                      absl::Span<Sequence* const> sequences,
                                      RandomSource& random, PhaseTimer& timer);

}  // namespace banyan

#endif  // BANYAN_DECODE_ROUND_H_
