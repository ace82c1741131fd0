// RoundEngine: runs rounds where they can be run: on the target's device, which
// runs a round alone where all parts of a method have a counterpart there
// (device_rounds.h), or here (round.h). The outcome is bit-identical.
#ifndef BANYAN_DECODE_ROUND_ENGINE_H_
#define BANYAN_DECODE_ROUND_ENGINE_H_

#include <memory>
#include <utility>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"

namespace banyan {

class RoundEngine {
 public:
  // Times are taken by `clock`.
  explicit RoundEngine(std::shared_ptr<const Clock> clock)
      : clock_(std::move(clock)) {}

  const Clock& clock() const { return *clock_; }
  // From the next round on.
  void StayOnHost() { stay_on_host_ = true; }

  // As RunRound. Fails too if a sequence has failed (Sequence::failed).
  absl::StatusOr<RoundRecords> Run(const Method& method,
                                   absl::Span<Sequence* const> sequences,
                                   RandomSource& random) const;

 private:
  std::shared_ptr<const Clock> clock_;
  bool stay_on_host_ = false;
};

}  // namespace banyan

#endif  // BANYAN_DECODE_ROUND_ENGINE_H_
