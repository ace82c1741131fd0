// Decoders: of one prompt, of a batch of prompts, and plain decoding.
#ifndef BANYAN_DECODE_DECODER_H_
#define BANYAN_DECODE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/round_engine.h"
#include "decode/sequence.h"

namespace banyan {

// Decoder: rounds until a stop rule.

// Called after every committed round.
using RoundSink = absl::FunctionRef<void(const RoundRecord&)>;

// Decodes prompts with one method, one after another or several together. Every
// sequence has sessions of the drafters and clones of the policies, as they
// were when it began; what drafters carry from prompt to prompt the method's
// take over in Absorb, where who decodes prompts says in which order.
class Decoder {
 public:
  // Refuses components that do not go together, naming both. The target must
  // outlive the decoder. Rounds are timed by `clock`.
  static absl::StatusOr<Decoder> Create(
      const Model& target, Method method,
      std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>());

  // A sequence that holds the prompt, its session prefilled and its drafters
  // told. Fails if the prompt is empty or does not fit the context.
  absl::StatusOr<Sequence> Begin(const Prompt& prompt, const StopRule& stop);

  // One round of sequences begun here that have not stopped, their passes
  // shared; a record for each, in their order, as if it were alone but for the
  // times. Fails as RoundEngine::Run.
  absl::StatusOr<RoundRecords> StepAll(absl::Span<Sequence* const> sequences,
                                       RandomSource& random);
  absl::StatusOr<RoundRecord> Step(Sequence& sequence, RandomSource& random);

  // Ends a sequence that has stopped: its drafters are not asked any more.
  static Lesson End(Sequence& sequence);
  // Has the method's drafters take over what a prompt left them. Fails as
  // CarriedState::Absorb, and if the lesson is of other trunks.
  absl::Status Absorb(const Lesson& lesson);
  // Whether some drafter carries state from prompt to prompt.
  bool carries_state() const;

  // Begin, then Step until a stop rule, then Absorb; the emitted tokens.
  absl::StatusOr<std::vector<TokenId>> Decode(const Prompt& prompt,
                                              const StopRule& stop,
                                              RandomSource& random,
                                              RoundSink sink);

  // From the next Begin on, rounds carry RoundRecord::facts.
  void KeepFacts() { keep_facts_ = true; }
  // From the next round on, rounds are run here step by step, also where the
  // target's device could run them alone: their phases then have times, and
  // their trees whole proposals.
  void StayOnHost() { method_.rounds = RoundsOn::kHost; }

  Method& method() { return method_; }
  const Method& method() const { return method_; }
  const Clock& clock() const { return engine_.clock(); }

 private:
  Decoder(const Model& target, Method method,
          std::shared_ptr<const Clock> clock);

  const Model* target_;
  Method method_;
  RoundEngine engine_;
  std::vector<int> taps_;  // that the drafters read
  bool keep_facts_ = false;
};

// Several prompts decoded together: their sequences share every pass, and when
// one ends the next prompt takes its place.

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

// Plain decoding, one token a pass: what every lossless method must reproduce.
// Written without trees or verifiers, so that it can be their oracle.
absl::StatusOr<std::vector<TokenId>> DecodePlainly(const Model& target,
                                                   const SamplingRule& rule,
                                                   const Prompt& prompt,
                                                   const StopRule& stop,
                                                   RandomSource& random);

}  // namespace banyan

#endif  // BANYAN_DECODE_DECODER_H_
