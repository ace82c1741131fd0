// Times the phases of a round by name.
#ifndef BANYAN_DECODE_PHASE_TIMER_H_
#define BANYAN_DECODE_PHASE_TIMER_H_

#include <cstddef>
#include <cstdint>

#include "core/base/clock.h"
#include "decode/sequence.h"

namespace banyan {

enum class Phase {
  kDerive,  // merging and flattening
  kTarget,
  kVerify,
  kCommit,
  kDevice,   // a whole round that the device ran alone
  kOutside,  // what is no part of the round
};

// Begins when it is made; each phase begins where the one before ended.
class PhaseTimer {
 public:
  // Of `trunks`, whose times there are.
  PhaseTimer(const Clock& clock, std::size_t trunks) : lap_(clock) {
    times_.draft_ns.resize(trunks, 0);
  }

  // Ends a phase, and adds its time to what it took before; the same of a
  // trunk's drafting.
  void EndDraft(std::size_t trunk) { times_.draft_ns[trunk] += lap_(); }
  void End(Phase phase) {
    const std::int64_t ns = lap_();
    switch (phase) {
      case Phase::kDerive:
        times_.derive_ns += ns;
        return;
      case Phase::kTarget:
        times_.target_ns += ns;
        return;
      case Phase::kVerify:
        times_.verify_ns += ns;
        return;
      case Phase::kCommit:
        times_.commit_ns += ns;
        return;
      case Phase::kDevice:
        times_.device_ns += ns;
        return;
      case Phase::kOutside:
        return;
    }
  }

  const PhaseTimes& times() const { return times_; }

 private:
  Lap lap_;
  PhaseTimes times_;
};

}  // namespace banyan

#endif  // BANYAN_DECODE_PHASE_TIMER_H_
