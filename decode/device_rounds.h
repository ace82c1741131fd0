// Rounds that the target's device runs alone, where all parts of a method have
// a counterpart there. Tree, verdict and text are bit-identical to those of a
// round on the host (round.h).
#ifndef BANYAN_DECODE_DEVICE_ROUNDS_H_
#define BANYAN_DECODE_DEVICE_ROUNDS_H_

#include "core/base/common.h"
#include "core/random/random_source.h"
#include "decode/host_cause.h"
#include "decode/method.h"
#include "decode/phase_timer.h"
#include "decode/round.h"
#include "decode/sequence.h"

namespace banyan {

// Puts these sequences on the device, if their next round can be run there
// (kNone); else returns why not. A method, target or source without
// counterparts cannot, nor a text so long that the tree would be cut. Fails if
// the device does.
absl::StatusOr<HostCause> PutOnDevice(const Method& method,
                                      absl::Span<Sequence* const> sequences,
                                      RandomSource& random);
// Runs and commits it, one round of each, which share every pass; `timer` was
// made before they were put there. Requires PutOnDevice. Out of memory it may
// be run again; after any other error of the call all sequences have failed.
absl::StatusOr<RoundRecords> RunOnDevice(const Method& method,
                                         absl::Span<Sequence* const> sequences,
                                         PhaseTimer& timer);
// The host has the next round: it gets what it lacks.
absl::Status TakeFromDevice(Sequence& sequence);

}  // namespace banyan

#endif  // BANYAN_DECODE_DEVICE_ROUNDS_H_
