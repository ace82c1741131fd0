// Decoder: rounds until a stop rule.
#ifndef BANYAN_DECODE_DECODER_H_
#define BANYAN_DECODE_DECODER_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"

namespace banyan {

// Called after every committed round.
using RoundSink = absl::FunctionRef<void(const RoundRecord&)>;

// Decodes one prompt after another with one method. Policies start every prompt
// from the state they were built with.
class Decoder {
 public:
  // Refuses components that do not go together, naming both. The target must
  // outlive the decoder. Rounds are timed by `clock`.
  static absl::StatusOr<Decoder> Create(
      const Model& target, Method method,
      std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>());

  // A sequence that holds the prompt, its session prefilled and the drafters
  // told. Fails if the prompt is empty or does not fit the context.
  absl::StatusOr<Sequence> Begin(const Prompt& prompt, const StopRule& stop);

  // One round of a sequence begun here; the latest one begun, since drafters
  // follow one sequence.
  absl::StatusOr<RoundRecord> Step(Sequence& sequence, RandomSource& random);

  // Begin, then Step until a stop rule; the emitted tokens.
  absl::StatusOr<std::vector<TokenId>> Decode(const Prompt& prompt,
                                              const StopRule& stop,
                                              RandomSource& random,
                                              RoundSink sink);

  // From the next Begin on, rounds carry RoundRecord::facts.
  void KeepFacts() { keep_facts_ = true; }

  Method& method() { return method_; }

 private:
  Decoder(const Model& target, Method method,
          std::shared_ptr<const Clock> clock);

  const Model* target_;
  Method method_;
  std::shared_ptr<const Clock> clock_;
  std::vector<std::vector<double>> first_states_;  // of the policies
  std::vector<int> taps_;                          // that the drafters read
  bool keep_facts_ = false;
};

}  // namespace banyan

#endif  // BANYAN_DECODE_DECODER_H_
