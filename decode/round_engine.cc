#include "decode/round_engine.h"

#include "decode/device_rounds.h"

namespace banyan {

absl::StatusOr<RoundRecords> RoundEngine::Run(
    const Method& method, absl::Span<Sequence* const> sequences,
    RandomSource& random) const {
  for (const Sequence* sequence : sequences)
    BANYAN_RETURN_IF_ERROR(sequence->failed);
  PhaseTimer timer(*clock_);
  // A device runs the rounds of one sequence.
  if (!stay_on_host_ && sequences.size() == 1) {
    Sequence& sequence = *sequences.front();
    BANYAN_ASSIGN_OR_RETURN(const bool on_device,
                            PutOnDevice(method, sequence, random));
    if (on_device) {
      RoundRecords records;
      BANYAN_ASSIGN_OR_RETURN(RoundRecord record,
                              RunOnDevice(method, sequence, timer));
      records.push_back(std::move(record));
      return records;
    }
  }
  for (Sequence* sequence : sequences)
    BANYAN_RETURN_IF_ERROR(TakeFromDevice(*sequence));
  return RunRound(method, sequences, random, timer);
}

}  // namespace banyan
