// Transformer: the Model of a decoder-only language model, written once for
// every family, against Backend.
#ifndef BANYAN_CORE_TRANSFORMER_TRANSFORMER_H_
#define BANYAN_CORE_TRANSFORMER_TRANSFORMER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/round/plan.h"
#include "core/transformer/network.h"
#include "core/transformer/pass_input.h"
#include "core/transformer/sequence.h"
#include "core/transformer/weights.h"

namespace banyan {

// ScoreBatches does what Model::Score does, for the sequences of a network.

// Scores a batch for each of several sequences of the network. Sequences that
// run the same layers share a pass. Where views have computed rows, it goes on
// from them, after a pass of the first layers has computed the rows that no
// view has.
absl::StatusOr<std::vector<std::unique_ptr<Scores>>> ScoreBatches(
    const Network& network, absl::Span<const SequenceRequest> requests);

class Transformer : public Model,
                    private OnDisk,
                    private Trimmable,
                    private DeviceRounds {
 public:
  // Loads as Network::Load.
  static absl::StatusOr<std::unique_ptr<Transformer>> Load(
      const Checkpoint& checkpoint, const TransformerOptions& options,
      std::shared_ptr<Backend> backend, const BorrowedWeights& borrowed = {},
      const Network* resident = nullptr);
  // Requires that no other model has this network.
  explicit Transformer(std::shared_ptr<const Network> network);

  const Network& network() const { return *network_; }

  ModelFacts facts() const override;
  ModelFacets facets() const override;
  std::unique_ptr<Session> NewSession() const override;
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override;
  absl::Status Finish() const override { return network_->backend().Finish(); }

  // Fails with InvalidArgument if the model has logits for none of the tokens.
  absl::StatusOr<std::shared_ptr<const Model>> WithOutputs(
      absl::Span<const TokenId> tokens) const override;
  absl::StatusOr<std::unique_ptr<DeviceRound>> NewDeviceRound(
      Session& session, RoundPlan plan,
      std::vector<std::unique_ptr<DeviceDrafter>> drafters) const override;
  absl::StatusOr<RoundsFound> RunRounds(
      absl::Span<DeviceRound* const> rounds) const override;
  bool by_default() const override;

 private:
  absl::StatusOr<std::uint64_t> ReadFromDisk() const override;

  std::shared_ptr<const Network> network_;
};

// Returns the sequence of a session; null if no transformer made it.
TransformerSequence* SequenceOf(Session* session);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_TRANSFORMER_H_
