#include "decode/round_engine.h"

#include "core/base/messages.h"
#include "core/model/model.h"
#include "decode/device_rounds.h"

namespace banyan {

absl::StatusOr<HostCause> RoundEngine::WhyHere(
    const Method& method, absl::Span<Sequence* const> sequences,
    RandomSource& random) {
  const DeviceRounds* const rounds =
      sequences.front()->target.facets().device_rounds;
  if (method.rounds == RoundsOn::kAuto &&
      (rounds == nullptr || !rounds->by_default()))
    return HostCause::kDefault;
  if (method.rounds == RoundsOn::kHost) return HostCause::kAsked;
  return PutOnDevice(method, sequences, random);
}

absl::StatusOr<RoundRecords> RoundEngine::Run(
    const Method& method, absl::Span<Sequence* const> sequences,
    RandomSource& random) const {
  BANYAN_RETURN_IF_ERROR(AskStop());
  for (const Sequence* sequence : sequences)
    BANYAN_RETURN_IF_ERROR(sequence->failed);
  PhaseTimer timer(*clock_, method.trunks.size());
  BANYAN_ASSIGN_OR_RETURN(const HostCause cause,
                          WhyHere(method, sequences, random));
  if (cause == HostCause::kNone) return RunOnDevice(method, sequences, timer);
  if (method.rounds == RoundsOn::kDevice)
    return absl::FailedPreconditionError(
        absl::StrCat("rounds: device: a round is the host's (", Name(cause),
                     "): ", Meaning(cause)));
  for (Sequence* sequence : sequences)
    BANYAN_RETURN_IF_ERROR(TakeFromDevice(*sequence));
  BANYAN_ASSIGN_OR_RETURN(RoundRecords records,
                          RunRound(method, sequences, random, timer));
  for (absl::StatusOr<RoundRecord>& record : records)
    if (record.ok()) record->host_cause = cause;
  return records;
}

}  // namespace banyan
