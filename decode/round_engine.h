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
#include "decode/host_cause.h"
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
  // As RunRound. Fails too if a sequence has failed (Sequence::failed), and
  // with FailedPrecondition if the method wants rounds on the device and this
  // one cannot be run there.
  absl::StatusOr<RoundRecords> Run(const Method& method,
                                   absl::Span<Sequence* const> sequences,
                                   RandomSource& random) const;

 private:
  // Why these sequences' round is the host's; kNone: they stand on the device.
  static absl::StatusOr<HostCause> WhyHere(
      const Method& method, absl::Span<Sequence* const> sequences,
      RandomSource& random);

  std::shared_ptr<const Clock> clock_;
};

}  // namespace banyan

#endif  // BANYAN_DECODE_ROUND_ENGINE_H_
