// What the ops read and write: views of buffers, and the arguments of each op,
// whose comments state its contract. nvcc reads this header.
#ifndef BANYAN_CORE_OPS_OP_ARGS_H_
#define BANYAN_CORE_OPS_OP_ARGS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/device/buffer.h"

namespace banyan {

// Views of buffers that the ops read and write.

// Rows of activations are stored a multiple of kLane numbers apart. What lies
// between a row's last column and the next row may be anything.
inline constexpr int kLane = 16;

constexpr int PadToLane(int columns) {
  return (columns + kLane - 1) / kLane * kLane;
}

// A matrix of 32-bit floats: row r starts at number offset + r * stride.
struct Tensor {
  Buffer* buffer = nullptr;
  std::size_t offset = 0;
  int rows = 0;
  int columns = 0;
  std::size_t stride = 0;

  bool empty() const { return buffer == nullptr; }
  Tensor Rows(int first, int count) const {
    return {buffer, offset + static_cast<std::size_t>(first) * stride, count,
            columns, stride};
  }
  Tensor Columns(int first, int count) const {
    return {buffer, offset + static_cast<std::size_t>(first), rows, count,
            stride};
  }
};

// A list of 32-bit integers.
struct Ints {
  Buffer* buffer = nullptr;
  std::size_t offset = 0;
  int size = 0;
};

// A number that the device alone knows when work is asked for, so that work may
// be recorded once (Backend::Record) and done again with another number.
struct Live {
  Ints at;       // holds it, alone
  int most = 0;  // it is never more

  bool empty() const { return at.buffer == nullptr; }
};

// KvCache: keys and values of one layer of one sequence, by slot.

// How numbers lie in the two buffers is the backend's business: only its ops
// read and write them. A slot that was never stored holds finite numbers.
struct KvCache {
  std::unique_ptr<Buffer> keys;
  std::unique_ptr<Buffer> values;
  int kv_heads = 0;
  int head_dim = 0;
  int capacity = 0;  // slots
};

// Stores row i of `keys` and `values` (kv_heads * head_dim numbers each) in
// slot first_slot + i. Requires room.
struct StoreKvArgs {
  Tensor keys;
  Tensor values;
  KvCache* cache;
  int first_slot;
  Live length = {};  // to be added to first_slot
};

// Moves slot slots[i] to slot first_slot + i, which is not above it; `slots`
// ascend. With `from`, another cache of as many heads of the same size, slot
// slots[i] of that is copied, and `slots` are in any order.
struct MoveKvArgs {
  KvCache* cache;
  std::vector<int> slots;
  int first_slot;
  const KvCache* from = nullptr;
};

// Activate: the nonlinearity of a feed-forward block.
enum class Nonlinearity {
  kSilu,      // x / (1 + exp(-x))
  kGeluTanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
};

// y = f(x), or f(x) * up where `up` is not empty; or y += that. y may be x.
struct ActivateArgs {
  Nonlinearity function;
  Tensor x;
  Tensor up;  // may be empty
  Tensor y;
  bool add = false;
};

// Norm: each row brought to a standard size.

// Sums of squares are taken of this many neighbours at a time.
inline constexpr int kSquaresWidth = 16;

constexpr int SquaresColumns(int columns) {
  return (columns + kSquaresWidth - 1) / kSquaresWidth;
}

// y = x / sqrt(mean(x^2) + epsilon) * weight, the root mean square norm; with
// `center` the row's mean is subtracted from x first, and `bias` added last,
// the layer norm. `weight` and `bias` are one row each. y may be x.
struct NormArgs {
  Tensor x;
  Tensor weight;
  Tensor bias;  // may be empty
  float epsilon;
  bool center = false;
  Tensor y;
  // What the product that made x left in its own `squares` (LinearArgs); empty
  // if another op made x.
  Tensor squares = {};
};

// Rotate: heads of queries or keys turned by their position.

// Each row of x is heads * head_dim numbers, changed in place:
// 1. with a `norm_weight` (one row of head_dim), each head is divided by its
//    root mean square and multiplied by the weight, as by NormArgs;
// 2. with `angles`, numbers i and i + head_dim / 2 of each head turn by angle i
//    of the row: (a cos - b sin, b cos + a sin). A row of `angles` holds
//    head_dim / 2 cosines, then as many sines;
// 3. everything is multiplied by `scale`.
struct RotateArgs {
  Tensor x;
  int head_dim;
  Tensor angles;       // may be empty
  Tensor norm_weight;  // may be empty
  float epsilon = 0;
  float scale = 1;
};

// RotateStore: queries and keys turned, keys and values of the rows stored. The
// sequences' rows follow each other. Keys need not be written but in a cache.
struct RotateStoreArgs {
  RotateArgs queries;
  RotateArgs keys;
  absl::Span<const StoreKvArgs> sequences;
};

// Copy: rows kept while the buffer they stand in goes on being used.

// y = x, which have one shape and do not overlap. With `rows`, row i of y
// becomes row rows[i] of x, and stays what it is where that is -1.
struct CopyArgs {
  Tensor x;
  Tensor y;
  Ints rows = {};
};

// Attention: each token looks at the committed prefix and at its ancestors.

// Pending token j has slot pending_slot + j of `pending`, which may be `prefix`
// itself, after the committed tokens. Row i of `queries` (heads * head_dim
// numbers, already scaled) is pending token first_pending + i. The row sees
// slots 0 .. committed - 1 of `prefix`, and the pending tokens j whose bit is
// set in its row of `visible`: bit j % 32 of word j / 32, `visible_words` words
// a row. A row sees itself and its ancestors, so the number of set bits is its
// depth + 1. With a `window` the row sees only the last `window` of all these.
// Query head h reads key head h / (heads / kv_heads).
//
// y[i][head] = sum over seen slots of p * value, p = exp(s - max s) and the
// whole divided by the sum of the p, where s is the product of query and key.
//
// Seen slots have positions: a slot of the prefix is its own position, the j-th
// seen pending slot has committed + j. A row's result depends, bit for bit, on
// what is seen at which position, and not on which slots the pending tokens
// have. Slots that are not seen add nothing, as long as what is stored there is
// finite.
struct AttentionArgs {
  Tensor queries;
  int heads;
  const KvCache* prefix;
  int committed;
  const KvCache* pending;
  int pending_slot;
  int first_pending;
  Ints visible;
  int visible_words;
  int window = 0;  // 0: all
  Tensor y;
  Live length = {};  // to be added to committed and pending_slot
  // Whether each row sees all pending tokens before it, which a backend may
  // then read as it reads committed ones.
  bool is_chain = false;
};

// AttentionMass: how much of a token's attention each stretch of the committed
// prefix gets.

// Row i of `queries` (heads * head_dim numbers, already scaled) looks at slots
// 0 .. committed - 1 of `prefix` and at nothing else. Chunk c of them is slots
// c * chunk .. (c + 1) * chunk - 1, the last one perhaps fewer. Query head h
// reads key head h / (heads / kv_heads).
//
// Row i * kv_heads + g of y belongs to key head g: its column c is the sum,
// over the query heads that read g, of (sum of the p of chunk c) / (sum of all
// p), where p = exp(s - max s) and s is the product of query and key, as in
// AttentionArgs. So a row of y adds up to heads / kv_heads. Values are not
// read.
//
// Requires committed >= 1 and chunk >= 1; y has queries.rows * kv_heads rows of
// ChunksOf(committed, chunk) columns.
struct AttentionMassArgs {
  Tensor queries;
  int heads;
  const KvCache* prefix;
  int committed;
  int chunk;  // slots
  Tensor y;
};

constexpr int ChunksOf(int slots, int chunk) {
  return (slots + chunk - 1) / chunk;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_OP_ARGS_H_
