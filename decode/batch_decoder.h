// Several prompts decoded together: their sequences share every pass, and when
// one ends the next prompt takes its place.
#ifndef BANYAN_DECODE_BATCH_DECODER_H_
#define BANYAN_DECODE_BATCH_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/round.h"
#include "decode/sequence.h"

namespace banyan {

// Hears what happens to each prompt, by its place in the list. Times are
// nanoseconds since the batch began, of prefilling and rounds alone: what the
// listener or the gathering of facts takes is not in them.
class BatchListener {
 public:
  virtual ~BatchListener() = default;
  // It found a place at `at_ns` and was prefilled, which took `prefill_ns`.
  virtual void Admitted(std::size_t prompt, std::int64_t at_ns,
                        std::int64_t prefill_ns) = 0;
  virtual void Round(std::size_t prompt, const RoundRecord& round) = 0;
  virtual void Ended(std::size_t prompt, StopReason reason, std::int64_t at_ns,
                     const Lesson& lesson) = 0;
};

// Decodes `prompts` in their order, at most `slots` at a time. Each gets the
// tokens, to the last bit, that it gets alone, if no drafter carries state from
// prompt to prompt. One that does sees, at each prompt, what it had taken over
// when the prompt was admitted; it takes over prompts in their order, each as
// soon as it and all before it have ended. Requires slots >= 1 and prompts of
// different ids. Fails as Decoder::Begin, StepAll and Absorb do.
absl::Status DecodeBatch(Decoder& decoder, absl::Span<const Prompt> prompts,
                         const StopRule& stop, int slots, RandomSource& random,
                         BatchListener& listener);

}  // namespace banyan

#endif  // BANYAN_DECODE_BATCH_DECODER_H_
