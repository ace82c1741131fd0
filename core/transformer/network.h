// Network: the weights of a decoder-only language model on a backend, and what
// passes over them share. Architecture states how the families differ.
#ifndef BANYAN_CORE_TRANSFORMER_NETWORK_H_
#define BANYAN_CORE_TRANSFORMER_NETWORK_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "core/ops/owned_tensor.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
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

// Immutable; safe for concurrent use, except its split.
class Network {
 public:
  // What the checkpoint lacks of embedding and head is `borrowed`, from a
  // network of the same backend. With ranks, every rank loads its part of the
  // layers, and embedding and head whole. `resident` is null, or a network of
  // the same checkpoint and backend that reads layers from disk: only these are
  // loaded, the rest is shared with it. Fails if used_vocab is larger than the
  // checkpoint's vocabulary, memory is given for a model that is not packed in
  // this format or a backend that does not stream, or together with ranks, or
  // as WeightStream::Open and LoadTransformerWeights.
  static absl::StatusOr<std::unique_ptr<const Network>> Load(
      const Checkpoint& checkpoint, const TransformerOptions& options,
      std::shared_ptr<Backend> backend, const BorrowedWeights& borrowed = {},
      const Network* resident = nullptr);
  // The same network with logits for these tokens alone, ascending, those that
  // it has none for left out. InvalidArgument if it has logits for none.
  absl::StatusOr<std::unique_ptr<const Network>> WithOutputs(
      absl::Span<const TokenId> tokens) const;

  const Architecture& architecture() const { return parts_.architecture; }
  int vocab_size() const { return architecture().vocab_size; }
  int context_limit() const { return architecture().context_limit; }
  int layers() const { return static_cast<int>(weights().layers.size()); }
  int hidden_size() const { return architecture().hidden_size; }
  // Numbers in a row of logits; of most networks one for each token.
  int logits() const { return head().rows(); }
  const OutputTokens& outputs() const { return outputs_; }
  const TransformerOptions& options() const { return parts_.options; }

  // For drafters that read the target's embedding and output head.
  const TransformerWeights& weights() const { return *parts_.weights; }
  const Weight& head() const { return *parts_.head; }
  // This rank's rows of it; null if it has none.
  const Weight* head_part() const { return parts_.head_part.get(); }
  ModelSplit& split() const { return *parts_.split; }
  // Null if all weights are in memory.
  const WeightStream* stream() const { return parts_.stream.get(); }
  Backend& backend() const { return *parts_.backend; }
  const std::shared_ptr<Backend>& shared_backend() const {
    return parts_.backend;
  }
  // Of a network whose positions are not learned.
  const Rotation& rotation() const { return *rotation_; }
  // The rotation of every position, a row each, made when first asked for. On
  // the device, so that rows there find their own. No weight, which the device
  // may round.
  absl::StatusOr<Tensor> Angles() const;

  // One that nobody else uses until it is let go of.
  std::shared_ptr<Workspace> TakeWorkspace() const;
  // Of the workspaces that nobody uses at the moment.
  std::size_t idle_workspace_bytes() const { return workspaces_->bytes(); }

 private:
  struct Parts {
    Architecture architecture;
    TransformerOptions options;
    std::shared_ptr<Backend> backend;  // outlives the weights
    std::shared_ptr<const TransformerWeights> weights;
    std::shared_ptr<const Weight> head;
    std::shared_ptr<const Weight> head_part;
    std::shared_ptr<const WeightStream> stream;
    std::shared_ptr<ModelSplit> split;
  };

  explicit Network(Parts parts);

  Parts parts_;
  OutputTokens outputs_;
  std::optional<Rotation> rotation_;
  std::shared_ptr<Workspaces> workspaces_;
  mutable std::mutex angles_turn_;
  mutable std::optional<OwnedTensor> angles_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_NETWORK_H_
