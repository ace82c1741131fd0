// Network holds the weights of a decoder-only language model on a backend, and
// what passes over them share. Architecture states how the families differ.
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
  // Only the tokenizer's tokens may be emitted. The logits of the rows that
  // only pad the vocabulary are -infinity. 0 stands for every row of logits.
  int used_vocab = 0;
  // Gives for each column of logits its token, -1 for none. It is empty where
  // the columns are those of the vocabulary.
  std::vector<TokenId> token_of = {};
  // Layers of a packed model that have no room are read from the file in every
  // pass. Without memory all layers stay.
  WeightRoom room = {};
  // The layers are shared out to these ranks. Null: this process has all.
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
  // Returns this network with logits for these tokens alone, which ascend.
  // Tokens that it has no logit for are left out; fails with InvalidArgument if
  // that leaves none.
  absl::StatusOr<std::unique_ptr<const Network>> WithOutputs(
      absl::Span<const TokenId> tokens) const;

  const Architecture& architecture() const { return parts_.architecture; }
  int vocab_size() const { return architecture().vocab_size; }
  int context_limit() const { return architecture().context_limit; }
  int layers() const { return static_cast<int>(weights().layers.size()); }
  int hidden_size() const { return architecture().hidden_size; }
  // Returns how many numbers a row of logits has: mostly one for each token.
  int logits() const { return head().rows(); }
  const OutputTokens& outputs() const { return outputs_; }
  const TransformerOptions& options() const { return parts_.options; }

  // Drafters read the target's embedding and output head.
  const TransformerWeights& weights() const { return *parts_.weights; }
  const Weight& head() const { return *parts_.head; }
  // Returns this rank's rows of the head; null if it has none.
  const Weight* head_part() const { return parts_.head_part.get(); }
  ModelSplit& split() const { return *parts_.split; }
  // Returns null if all weights are in memory.
  const WeightStream* stream() const { return parts_.stream.get(); }
  Backend& backend() const { return *parts_.backend; }
  const std::shared_ptr<Backend>& shared_backend() const {
    return parts_.backend;
  }
  // Requires that positions are not learned.
  const Rotation& rotation() const { return *rotation_; }
  // Returns the rotation of every position, a row each, made at the first call.
  // It is on the device, so that rows there find their own, and no weight,
  // which the device may round.
  absl::StatusOr<Tensor> Angles() const;

  // Returns a workspace that nobody else uses until it is let go of.
  std::shared_ptr<Workspace> TakeWorkspace() const;
  // Returns the bytes of the workspaces that nobody uses at the moment.
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
