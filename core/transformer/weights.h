// The weights of a transformer, packed for a backend.
#ifndef BANYAN_CORE_TRANSFORMER_WEIGHTS_H_
#define BANYAN_CORE_TRANSFORMER_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/buffer.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/transformer/model_split.h"
#include "core/transformer/weight_stream.h"

namespace banyan {

// One row of numbers, or none.
struct RowVector {
  std::unique_ptr<Buffer> buffer;
  int size = 0;

  Tensor view() const {
    return {buffer.get(), 0, size > 0 ? 1 : 0, size,
            static_cast<std::size_t>(PadToLane(size))};
  }
};

struct TransformerLayer {
  RowVector attention_norm, attention_norm_bias;
  // Of a rank that shares the model: its part of the rows, null for none.
  std::unique_ptr<Weight> query_key_value;  // one below the other
  RowVector query_key_value_bias;
  RowVector query_norm, key_norm;
  std::unique_ptr<Weight> output;
  RowVector output_bias;
  RowVector mlp_norm, mlp_norm_bias;
  std::unique_ptr<Weight> gate_up;  // one below the other; `up` if not gated
  RowVector gate_up_bias;
  std::unique_ptr<Weight> down;
  RowVector down_bias;
};

// Embedding and output head of one model, which others may borrow.
struct BorrowedWeights {
  std::shared_ptr<const Weight> embedding;
  std::shared_ptr<const Weight> head;
};

struct TransformerWeights {
  std::shared_ptr<const Weight> embedding;
  std::unique_ptr<Weight> positions;  // null with rotary positions
  std::unique_ptr<Weight> fuse;       // of a VectorInput
  RowVector fuse_bias, token_norm, vector_norm;
  std::vector<std::shared_ptr<const TransformerLayer>> layers;
  RowVector final_norm, final_norm_bias;
  std::shared_ptr<const Weight> own_head;  // null if the embedding is the head

  BorrowedWeights Lend() const {
    return {embedding, own_head ? own_head : embedding};
  }
  // All matrices, and how each is kept.
  std::vector<KeptMatrix> kept() const;
  // The matrices a pass reads but for the head, their numbers and their bytes.
  std::vector<const Weight*> matrices() const;
  double layer_numbers() const;
  std::size_t layer_bytes() const;
  // Of all matrices.
  std::size_t total_bytes() const;
};

// Rows of a matrix as one of its own: the same numbers in f32 and bf16, and in
// q8 rounded anew.
absl::StatusOr<std::shared_ptr<const Weight>> RowsOf(
    const Weight& matrix, const std::vector<int>& rows, Backend& backend);

// About what they will take, read from nothing.
std::size_t WeightBytes(const Architecture& architecture, WeightFormat format);

// One source, packed; a vector stays 32-bit. None if it is absent.
absl::StatusOr<std::unique_ptr<Weight>> LoadMatrix(const Checkpoint& checkpoint,
                                                   const WeightSource& source,
                                                   WeightFormat format,
                                                   Backend& backend);
absl::StatusOr<RowVector> LoadVector(const Checkpoint& checkpoint,
                                     const WeightSource& source,
                                     Backend& backend);

// What a model whose layers are partly read from disk has in memory.
struct ResidentWeights {
  const TransformerWeights& weights;
  const WeightStream& stream;
};

// The layers' part that `split` gives this rank, and all else whole. Matrices
// become `format`; norms, biases and learnt positions stay 32-bit.
// Each tensor's pages are given back once it is packed.
// Embedding and head are `borrowed` where the checkpoint has none. Matrices of
// `stream`, which is of the same checkpoint, stay in their file. Embedding,
// head and layers that `resident`, a model of the same checkpoint, has in
// memory are shared with it.
absl::StatusOr<TransformerWeights> LoadTransformerWeights(
    const Checkpoint& checkpoint, WeightFormat format, Backend& backend,
    const ModelSplit& split, const BorrowedWeights& borrowed = {},
    const WeightStream* stream = nullptr,
    const ResidentWeights* resident = nullptr);

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_WEIGHTS_H_
