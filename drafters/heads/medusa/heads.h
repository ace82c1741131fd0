// The heads of Medusa: the distributions of later tokens from one hidden state.
#ifndef BANYAN_DRAFTERS_HEADS_MEDUSA_HEADS_H_
#define BANYAN_DRAFTERS_HEADS_MEDUSA_HEADS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "drafters/propose.h"

namespace banyan {

// Immutable; safe for concurrent use.
class MedusaHeads {
 public:
  virtual ~MedusaHeads() = default;

  virtual int count() const = 0;
  virtual LogitTokens outputs() const { return {}; }

  // `hidden` is the target's hidden state after the final norm at some token.
  // logits[i] becomes head i's for the token i + 2 places on: one number per
  // token of the vocabulary, -infinity where the target never emits one, or
  // one per token of outputs().
  virtual absl::Status Score(
      absl::Span<const float> hidden,
      std::vector<std::vector<double>>& logits) const = 0;
  // Score() for several states, in their order, with the same numbers. Unless
  // overridden one after the other.
  virtual absl::Status ScoreAll(
      absl::Span<const absl::Span<const float>> hidden,
      std::vector<std::vector<std::vector<double>>>& logits) const;
  // Returns these heads restricted to the given output tokens. Unimplemented if
  // trimming would save nothing; see TrimHeads.
  virtual absl::StatusOr<std::shared_ptr<const MedusaHeads>> WithOutputs(
      absl::Span<const TokenId> tokens) const;
  // For rounds that the target's device runs; null if they are not on it.
  virtual absl::StatusOr<std::unique_ptr<DeviceDrafter>> OnDevice() const;
};

// The heads of `directory` (heads_file.h), kept in the target's format and run
// by its backend. The target outlives them. Fails with InvalidArgument if it is
// no transformer, as MedusaFile::Open does, or if there is no memory.
absl::StatusOr<std::unique_ptr<MedusaHeads>> LoadMedusaHeads(
    const std::string& directory, const Model& target);

// Returns MedusaHeads::WithOutputs or, where that is Unimplemented, a wrapper
// that computes all logits and keeps those of `tokens`. The target has
// vocab_size tokens.
absl::StatusOr<std::shared_ptr<const MedusaHeads>> TrimHeads(
    const std::shared_ptr<const MedusaHeads>& heads,
    const std::vector<TokenId>& tokens, int vocab_size);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_MEDUSA_HEADS_H_
