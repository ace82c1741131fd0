// Decoding in one call, by a method and plainly.
#ifndef BANYAN_TESTS_SUPPORT_DECODING_H_
#define BANYAN_TESTS_SUPPORT_DECODING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "tests/conformance/pairing.h"
#include "tree/draft_tree.h"
#include "verifiers/verifier.h"

namespace banyan {

struct Decoded {
  std::vector<TokenId> tokens;
  std::vector<RoundRecord> rounds;
  // Why it stopped: the sequence's own reason.
  StopReason stopped = StopReason::kNone;
};

// Failures end the program.
Decoded MustDecode(Decoder& decoder, const Prompt& prompt, const StopRule& stop,
                   std::uint64_t seed = 0);
Decoded MustDecode(const Pairing& pairing, const Prompt& prompt,
                   const StopRule& stop, std::uint64_t seed = 0);
std::vector<TokenId> MustDecodePlainly(const Model& target,
                                       const SamplingRule& rule,
                                       const Prompt& prompt,
                                       const StopRule& stop,
                                       std::uint64_t seed = 0);

// Returns every verifier of the catalogue, with its variants, whose output has
// the target distribution at this temperature.
std::vector<std::string> LosslessVerifiers(double temperature);

// The verifier of "multi_round {order: shuffled}".
std::unique_ptr<Verifier> VerifierOf(const std::string& spec);

// A decoder over trunks that stand in no catalogue, or why there is none.
absl::StatusOr<Decoder> WithTrunks(const Model& target,
                                   const std::string& verifier,
                                   std::vector<Trunk> trunks,
                                   const SamplingOptions& sampling = {});

// One such trunk.
Trunk TrunkOf(std::unique_ptr<Drafter> drafter, const std::string& policy,
              DrawKind draw_kind = DrawKind::kIndependent);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_DECODING_H_
