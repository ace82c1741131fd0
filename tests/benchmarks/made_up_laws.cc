#include "tests/benchmarks/made_up_laws.h"

#include <cmath>
#include <cstdint>

#include "core/base/check.h"
#include "core/prob/sampling_rule.h"
#include "drafters/propose.h"
#include "tests/support/mix.h"

namespace banyan {
namespace {

// The rank of a token in distribution `index` is a bijection of the token: the
// factor is a prime that does not divide the size of the vocabulary.
std::vector<double> TargetLogits(int index) {
  constexpr std::uint64_t kFactor = 7919;
  constexpr double kExponent = 1.5;  // the likeliest token has about 0.4
  const std::uint64_t shift = Mix(static_cast<std::uint64_t>(index));
  std::vector<double> logits;
  for (std::uint64_t token = 0; token < MadeUpLaws::kVocabSize; ++token) {
    const std::uint64_t rank =
        (token * kFactor + shift % MadeUpLaws::kVocabSize) %
        MadeUpLaws::kVocabSize;
    logits.push_back(-kExponent * std::log1p(static_cast<double>(rank)));
  }
  return logits;
}

// Uniform noise of this width leaves sum min(p, q) near 0.6, where trees are
// worth drafting and refusals are common.
void AddNoise(int index, std::vector<double>& logits) {
  constexpr double kWidth = 4;
  std::uint64_t state = Mix(~static_cast<std::uint64_t>(index));
  for (double& logit : logits) {
    state = Mix(state);
    logit += kWidth * (static_cast<double>(state >> 11) * 0x1p-53 - 0.5);
  }
}

Distribution Law(const SamplingRule& rule, absl::Span<const double> logits) {
  absl::StatusOr<Distribution> law = rule.Apply(logits, {}, {});
  Check(law.ok(), "made-up logits are numbers");
  return *law;
}

}  // namespace

MadeUpLaws::MadeUpLaws() : logits_(TargetLogits(0)) {
  const SamplingRule whole;
  const SamplingRule few({.top_k = kEntries});
  for (int i = 0; i < kCount; ++i) {
    std::vector<double> logits = TargetLogits(i);
    targets_.push_back(Law(whole, logits));
    AddNoise(i, logits);
    dense_.push_back(Law(whole, logits));
    sparse_.push_back(Law(few, logits));
  }
}

int MadeUpLaws::Pick(absl::Span<const TokenId> path) {
  std::uint64_t state = 0;
  for (TokenId token : path)
    state = Mix(state ^ static_cast<std::uint64_t>(token + 1));
  return static_cast<int>(state % kCount);
}

absl::StatusOr<std::vector<Proposals>> MadeUpDrafter::Propose(
    absl::Span<const DraftRequest> requests) {
  return ProposeEach(
      requests, [this](const DraftRequest& /*request*/, int /*node*/,
                       absl::Span<const TokenId> path) {
        const int index = MadeUpLaws::Pick(path);
        return absl::StatusOr<Proposal>(
            Proposal{dense_ ? laws_.dense(index) : laws_.sparse(index)});
      });
}

}  // namespace banyan
