// Times the phases of a round by name.
#ifndef BANYAN_DECODE_PHASE_TIMER_H_
#define BANYAN_DECODE_PHASE_TIMER_H_

#include <cstdint>

#include "core/base/clock.h"
#include "decode/sequence.h"

namespace banyan {

enum class Phase {
  kDraft,   // of one trunk: each call ends another trunk's
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
  explicit PhaseTimer(const Clock& clock) : lap_(clock) {}

  // Ends a phase, and adds its time to what it took before.
  void End(Phase phase) {
    const std::int64_t ns = lap_();
    switch (phase) {
      case Phase::kDraft:
        times_.draft_ns.push_back(ns);
        return;
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
