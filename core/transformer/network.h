// Network holds the weights of a decoder-only language model on a backend, and
// what passes over them share. Architecture states how the families differ.
#ifndef BANYAN_CORE_TRANSFORMER_NETWORK_H_
#define BANYAN_CORE_TRANSFORMER_NETWORK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/buffer.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "core/ops/device_memory.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/transformer/model_split.h"
#include "core/transformer/weight_stream.h"
#include "core/transformer/weights.h"

namespace banyan {

// The tokens that a model has logits for, where they are not its vocabulary's.
struct OutputTokens {
  OutputTokens() = default;
  // token_of[i] is the token of logit column i; columns with -1 are ignored.
  explicit OutputTokens(const std::vector<TokenId>& token_of) {
    std::vector<std::pair<TokenId, int>> all;
    for (std::size_t i = 0; i < token_of.size(); ++i)
      if (token_of[i] >= 0) all.emplace_back(token_of[i], static_cast<int>(i));
    std::sort(all.begin(), all.end());
    for (const auto& [token, column] : all) {
      tokens.push_back(token);
      columns.push_back(column);
    }
  }

  // True if column i is token i for the whole vocabulary.
  bool all() const { return tokens.empty(); }
  // By token of a vocabulary its column, -1 if it has none; empty for all().
  std::vector<int> ByToken(int vocab_size) const {
    if (all()) return {};
    std::vector<int> by_token(static_cast<std::size_t>(vocab_size), -1);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      by_token[static_cast<std::size_t>(tokens[i])] = columns[i];
    return by_token;
  }

  std::vector<TokenId> tokens;  // ascending
  std::vector<int> columns;     // theirs
};

// Rotation: the angles by which rotary positions turn queries and keys.

// Immutable.
class Rotation {
 public:
  Rotation(const Rope& rope, int head_dim);

  // Writes the cosines, then the sines, of a position's head_dim / 2 angles.
  //
  // Frequencies, and angles as their product with the position, are rounded to
  // 32-bit floats: so were the models trained, and at long contexts exact
  // angles would be others.
  void Write(int position, float* out) const;

 private:
  std::vector<float> frequencies_;
};

// Workspace: buffers for the numbers of one pass, used again by the next.
class Workspace {
 public:
  enum Place {
    kStream,     // the residual stream
    kBeside,     // embeddings and vectors side by side (VectorInput)
    kNormed,     // what a matrix reads
    kSquares,    // of the residual stream, for its norms
    kProjected,  // queries, keys and values; gate and up
    kAttended,
    kActivated,  // of all ranks
    kAngles,
    kIds,
    kPositions,
    kVisible,
    kLogits,
    kPlaces,
  };

  explicit Workspace(DeviceMemory& memory) : memory_(memory) {}

  // A matrix in `place`; what it held is lost.
  absl::StatusOr<Tensor> Matrix(Place place, int rows, int columns);
  absl::StatusOr<Ints> List(Place place, const std::vector<int>& values);
  // A matrix for the hidden states that are kept beside those in `places`, one
  // for each number, 0 and up.
  absl::StatusOr<Tensor> Kept(std::size_t number, int rows, int columns);

  // Of all its buffers.
  std::size_t bytes() const { return bytes_; }

 private:
  absl::StatusOr<Tensor> MatrixIn(std::unique_ptr<Buffer>& buffer, int rows,
                                  int columns);
  // Replaces `buffer` unless it has at least `bytes` bytes.
  absl::Status MakeRoom(std::unique_ptr<Buffer>& buffer, std::size_t bytes);

  DeviceMemory& memory_;
  std::array<std::unique_ptr<Buffer>, kPlaces> buffers_;
  std::vector<std::unique_ptr<Buffer>> kept_;
  std::size_t bytes_ = 0;
};

// Workspaces that nobody uses at the moment. Safe for concurrent use.
class Workspaces {
 public:
  std::unique_ptr<Workspace> Take(DeviceMemory& memory);
  void Return(std::unique_ptr<Workspace> workspace);

  // Of those that nobody uses at the moment.
  std::size_t bytes() const;

 private:
  mutable std::mutex turn_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

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
