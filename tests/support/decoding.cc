#include "tests/support/decoding.h"

#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/random/random_source.h"
#include "tests/conformance/toys.h"
#include "tests/support/drafting.h"
#include "verifiers/catalogue.h"

namespace banyan {

Decoded MustDecode(Decoder& decoder, const Prompt& prompt, const StopRule& stop,
                   std::uint64_t seed) {
  SeededSource random(seed);
  Decoded decoded;
  absl::StatusOr<Sequence> sequence = decoder.Begin(prompt, stop);
  Check(sequence.ok(), sequence.status().message());
  while (sequence->stopped == StopReason::kNone) {
    absl::StatusOr<RoundRecord> round = decoder.Step(*sequence, random);
    Check(round.ok(), round.status().message());
    Check(round->stopped == sequence->stopped, "two reasons to stop");
    decoded.tokens.insert(decoded.tokens.end(), round->emitted.begin(),
                          round->emitted.end());
    decoded.rounds.push_back(*std::move(round));
  }
  decoded.stopped = sequence->stopped;
  const absl::Status taught = decoder.Absorb(Decoder::End(*sequence));
  Check(taught.ok(), taught.message());
  return decoded;
}

Decoded MustDecode(const Pairing& pairing, const Prompt& prompt,
                   const StopRule& stop, std::uint64_t seed) {
  absl::StatusOr<Decoder> decoder = Build(pairing);
  Check(decoder.ok(), decoder.status().message());
  return MustDecode(*decoder, prompt, stop, seed);
}

std::vector<TokenId> MustDecodePlainly(const Model& target,
                                       const SamplingRule& rule,
                                       const Prompt& prompt,
                                       const StopRule& stop,
                                       std::uint64_t seed) {
  SeededSource random(seed);
  absl::StatusOr<std::vector<TokenId>> tokens =
      DecodePlainly(target, rule, prompt, stop, random);
  Check(tokens.ok(), tokens.status().message());
  return *std::move(tokens);
}

std::vector<std::string> LosslessVerifiers(double temperature) {
  std::vector<std::string> lossless;
  for (const std::string& spec : VerifierSpecs()) {
    absl::StatusOr<Decoder> decoder =
        Build({.target = Toy({}),
               .verifier = spec,
               .sampling = {.temperature = temperature}});
    if (IsRefusal(decoder.status())) continue;
    Check(decoder.ok(), decoder.status().message());
    if (IsLossless(decoder->method())) lossless.push_back(spec);
  }
  return lossless;
}

std::unique_ptr<Verifier> VerifierOf(const std::string& spec) {
  absl::StatusOr<std::unique_ptr<Verifier>> verifier =
      BuildVerifier(ParseYaml(Section(spec), spec).value());
  Check(verifier.ok(), verifier.status().message());
  return *std::move(verifier);
}

absl::StatusOr<Decoder> WithTrunks(const Model& target,
                                   const std::string& verifier,
                                   std::vector<Trunk> trunks,
                                   const SamplingOptions& sampling) {
  return Decoder::Create(target, {.verifier_name = verifier,
                                  .verifier = VerifierOf(verifier),
                                  .trunks = std::move(trunks),
                                  .rule = SamplingRule(sampling)});
}

Trunk TrunkOf(std::unique_ptr<Drafter> drafter, const std::string& policy,
              DrawKind draw_kind) {
  return {.drafter_name = "test drafter",
          .policy_name = policy,
          .drafter = std::move(drafter),
          .policy = PolicyOf(policy),
          .draw_kind = draw_kind};
}

}  // namespace banyan
