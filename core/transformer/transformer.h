// Transformer: the Model of a decoder-only language model, written once for
// every family, against Backend.
#ifndef BANYAN_CORE_TRANSFORMER_TRANSFORMER_H_
#define BANYAN_CORE_TRANSFORMER_TRANSFORMER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/ranks/communicator.h"
#include "core/model/device_round.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/prob/round_plan.h"
#include "core/transformer/model_split.h"
#include "core/transformer/output_tokens.h"
#include "core/transformer/rotation.h"
#include "core/transformer/weight_stream.h"
#include "core/transformer/weights.h"
#include "core/transformer/workspace.h"

namespace banyan {

struct TransformerOptions {
  WeightFormat format = WeightFormat::kF32;
  // Tokens that may be emitted: the tokenizer's. The logits of the rows that
  // only pad the vocabulary are -infinity. 0: every row of logits.
  int used_vocab = 0;
  // By column of logits the token that it is of, -1 for none; empty: the
  // vocabulary's.
  std::vector<TokenId> token_of = {};
  // Of a packed model: layers that have no room are read from the file in every
  // pass. Without memory all stay.
  WeightRoom room = {};
  // Shared out to these; null: this process has all layers.
  std::shared_ptr<Communicator> ranks = nullptr;
};

class Transformer : public Model {
 public:
  // What the checkpoint lacks of embedding and head is `borrowed`, from a model
  // of the same backend. With ranks, every rank loads its part of the layers,
  // and embedding and head whole. `resident` is null, or a model of the same
  // checkpoint and backend that reads layers from disk: only these are loaded,
  // the rest is shared with it. Fails if used_vocab is larger than the
  // checkpoint's vocabulary, memory is given for a model that is not packed in
  // this format or a backend that does not stream, or together with ranks, or
  // as WeightStream::Open and LoadTransformerWeights.
  static absl::StatusOr<std::unique_ptr<Transformer>> Load(
      const Checkpoint& checkpoint, const TransformerOptions& options,
      std::shared_ptr<Backend> backend, const BorrowedWeights& borrowed = {},
      const Transformer* resident = nullptr);

  int vocab_size() const override { return architecture_.vocab_size; }
  // Numbers in a row of logits; of most models one for each token.
  int logits() const { return head().rows(); }
  const OutputTokens& outputs() const { return outputs_; }
  int context_limit() const override { return architecture_.context_limit; }
  int layers() const override {
    return static_cast<int>(weights_->layers.size());
  }
  int hidden_size() const override { return architecture_.hidden_size; }
  absl::string_view grown_from() const override {
    return architecture_.grown_from;
  }
  ModelFacts facts() const override;
  std::unique_ptr<Session> NewSession() const override;
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override;
  // As WithOutputs has it; InvalidArgument if the model has logits for none of
  // the tokens.
  absl::StatusOr<std::shared_ptr<const Model>> WithOutputs(
      absl::Span<const TokenId> tokens) const override;
  absl::StatusOr<std::uint64_t> ReadFromDisk() const override;
  absl::Status Finish() const override { return backend_->Finish(); }
  absl::StatusOr<std::unique_ptr<DeviceRound>> NewDeviceRound(
      Session& session, const RoundPlan& plan,
      std::unique_ptr<DeviceDrafter> drafter) const override;

  const Architecture& architecture() const { return architecture_; }
  const TransformerOptions& options() const { return options_; }
  // For drafters that read the target's embedding and output head.
  const TransformerWeights& weights() const { return *weights_; }
  const Weight& head() const { return *head_; }
  // This rank's rows of it; null if it has none.
  const Weight* head_part() const { return head_part_.get(); }
  ModelSplit& split() const { return *split_; }
  // Null if all weights are in memory.
  const WeightStream* stream() const { return stream_.get(); }
  Backend& backend() const { return *backend_; }
  const std::shared_ptr<Backend>& shared_backend() const { return backend_; }
  // Of a model whose positions are not learned.
  const Rotation& rotation() const { return *rotation_; }
  // The rotation of every position, a row each, made when first asked for. On
  // the device, so that rows there find their own. No weight, which the device
  // may round.
  absl::StatusOr<Tensor> Angles() const;
  // One that nobody else uses until it is let go of.
  std::shared_ptr<Workspace> TakeWorkspace() const;

 private:
  Transformer(Architecture architecture, TransformerOptions options,
              std::shared_ptr<const TransformerWeights> weights,
              std::shared_ptr<const Weight> head,
              std::shared_ptr<const Weight> head_part,
              std::shared_ptr<const WeightStream> stream,
              std::shared_ptr<ModelSplit> split,
              std::shared_ptr<Backend> backend);

  Architecture architecture_;
  TransformerOptions options_;
  std::shared_ptr<Backend> backend_;  // outlives the weights
  std::shared_ptr<const TransformerWeights> weights_;
  std::shared_ptr<const Weight> head_;
  std::shared_ptr<const Weight> head_part_;
  std::shared_ptr<const WeightStream> stream_;
  std::shared_ptr<ModelSplit> split_;
  OutputTokens outputs_;
  std::optional<Rotation> rotation_;
  std::shared_ptr<Workspaces> workspaces_;
  mutable std::mutex angles_turn_;
  mutable std::optional<OwnedTensor> angles_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_TRANSFORMER_H_
