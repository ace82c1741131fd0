// EagleHead: a head's network, loaded, on its target's device.
#ifndef BANYAN_DRAFTERS_EAGLE_HEAD_H_
#define BANYAN_DRAFTERS_EAGLE_HEAD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/features.h"
#include "core/model/model.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "drafters/eagle/layouts.h"

namespace banyan {

// Immutable; safe for concurrent use. The target outlives it.
class EagleHead {
 public:
  // In the target's format. Fails with InvalidArgument if the target is no
  // transformer, or as OpenEagleFile.
  static absl::StatusOr<std::unique_ptr<EagleHead>> Load(
      const std::string& directory, const Model& target);
  static absl::StatusOr<std::unique_ptr<EagleHead>> Load(
      const std::string& directory, const Model& target, TurnEagle turn);

  const EagleSpec& spec() const { return spec_; }
  const Transformer& network() const { return *network_; }
  // Where the network's output is taken that is fed back.
  int output_tap() const {
    return spec_.feeds_back_normed ? kAfterFinalNorm : network_->layers();
  }

  // The network's vectors, network().hidden_size() numbers each, of rows of the
  // target's states, spec().taps.size() times its hidden size each, by tap.
  absl::Status VectorsOf(absl::Span<const float> states, int rows,
                         std::vector<float>& vectors) const;

  // What `rule` makes of a row of the network's scores, a law of the target's
  // tokens (Scores::Law).
  absl::StatusOr<Distribution> Law(const Scores& scores, int row,
                                   const SamplingRule& rule,
                                   absl::Span<const TokenId> history,
                                   absl::Span<const TokenId> path) const;

 private:
  EagleHead(EagleSpec spec, std::vector<TokenId> token_of, int vocab_size,
            int state_size)
      : spec_(std::move(spec)),
        token_of_(std::move(token_of)),
        vocab_size_(vocab_size),
        state_size_(state_size) {}

  absl::Status LoadReduction(const Checkpoint& checkpoint);

  EagleSpec spec_;
  std::vector<TokenId> token_of_;  // by logit; empty: the target's tokens
  int vocab_size_;                 // the target's
  int state_size_;                 // the target's
  std::unique_ptr<Transformer> network_;
  std::unique_ptr<Weight> reduce_;
  std::vector<RowVector> state_norms_;
  RowVector joint_norm_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_EAGLE_HEAD_H_
