// The kernels of the ops, as two makers make them: what a backend calls, and
// the layouts that are its own. Plain types, for nvcc reads this too.
//
// Matrices of activations are rows of floats. Every launch is asked of the
// device and done in its order.
#ifndef BANYAN_CORE_OPS_CUDA_KERNELS_OP_KERNELS_H_
#define BANYAN_CORE_OPS_CUDA_KERNELS_OP_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"

namespace banyan {

// `numbers` begins with the first row's first number and ends with the last
// row's last.
struct DeviceMatrix {
  DeviceSpan numbers;
  std::int64_t stride = 0;
  int rows = 0;
  int columns = 0;
};

struct NormLaunch {
  DeviceMatrix x;
  DeviceMatrix weight;
  DeviceMatrix bias;
  float epsilon = 0;
  bool center = false;
  DeviceMatrix y;
};

struct RotateLaunch {
  DeviceMatrix x;
  int head_dim = 0;
  DeviceMatrix angles;
  DeviceMatrix norm_weight;
  float epsilon = 0;
  float scale = 1;
};

struct ActivateLaunch {
  bool gelu = false;  // else silu
  DeviceMatrix x;
  DeviceMatrix up;
  DeviceMatrix y;
  bool add = false;
};

struct CopyLaunch {
  DeviceMatrix x;
  DeviceMatrix y;
  DeviceSpan rows;  // integers, or none
};

// Of `kBf16` and `kQ8` a tile of 16 rows and of 16 or 32 columns is what a warp
// loads at once: 16 bytes a lane, as the product of fragments wants them; tiles
// of the same rows follow each other, and what pads the last ones is 0. Scales:
// a word for rows r and r + 8 of a tile. Of `kF32` tiles are of one column.
//
// Or, for a library's products, rows of bfloat16s of `stride` numbers, an even
// one, whatever the format was.
struct DeviceWeight {
  WeightFormat format = WeightFormat::kF32;
  int rows = 0;
  int columns = 0;
  DeviceSpan numbers;
  DeviceSpan scales;        // of kQ8
  std::int64_t stride = 0;  // 0: tiles
};

struct EmbedLaunch {
  DeviceSpan ids;
  DeviceWeight table;
  DeviceMatrix y;
  bool add = false;
};

// What the rows of a product are made of, besides a matrix: they are made
// where they are packed for it. Not of f32 weights, whose rows are not packed.
enum class LinearSource { kMatrix, kNorm, kActivate, kAttention };

struct AttentionLaunch;

struct LinearLaunch {
  DeviceMatrix x;  // of kMatrix; of the others only its shape is read
  DeviceWeight weight;
  DeviceMatrix bias;
  DeviceMatrix y;
  bool add = false;
  DeviceSpan scratch;  // linear_scratch(this) bytes, for this launch alone
  LinearSource source = LinearSource::kMatrix;
  const NormLaunch* norm = nullptr;
  const ActivateLaunch* activate = nullptr;
  const AttentionLaunch* attention = nullptr;  // has been launched without y
};

// Keys and values of a layer: by head, then by slot, KvWidth(head_dim)
// bfloat16s each, of which those from head_dim on are 0.
struct DeviceKv {
  DeviceSpan keys;
  DeviceSpan values;
  int kv_heads = 0;
  int head_dim = 0;
  int capacity = 0;
};

// The least width that attention is compiled for.
constexpr int KvWidth(int head_dim) {
  return head_dim <= 32    ? 32
         : head_dim <= 64  ? 64
         : head_dim <= 96  ? 96
         : head_dim <= 128 ? 128
                           : 256;
}

struct StoreKvLaunch {
  DeviceMatrix keys;
  DeviceMatrix values;
  DeviceKv cache;
  int first_slot = 0;
  DeviceSpan length;  // may be empty; else an integer, added to first_slot
};

struct MoveKvLaunch {
  DeviceKv from;  // of no slots: `cache`
  DeviceKv cache;
  DeviceSpan slots;  // 32-bit integers
  int first_slot = 0;
};

struct AttentionLaunch {
  DeviceMatrix queries;
  int heads = 0;
  DeviceKv prefix;
  int committed = 0;
  // May be empty; else an integer, added to committed and pending_slot, and the
  // most that it is.
  DeviceSpan length;
  int longest = 0;
  DeviceKv pending;
  int pending_slot = 0;
  int first_pending = 0;
  DeviceSpan visible;
  int visible_words = 0;
  int window = 0;
  DeviceMatrix y;      // empty: the next product reads them (LinearSource)
  DeviceSpan scratch;  // attention_scratch(this) bytes
};

struct AttentionMassLaunch {
  DeviceMatrix queries;
  int heads = 0;
  DeviceKv prefix;
  int committed = 0;
  int chunk = 1;
  DeviceMatrix y;
  DeviceSpan scratch;  // attention_mass_scratch(this) bytes
};

// Rows of queries, of keys and of what is stored are the same rows.
struct RotateStoreLaunch {
  RotateLaunch queries;
  RotateLaunch keys;
  StoreKvLaunch store;
};

// Rows of `stride` bfloat16s, zeros from x.columns on. x has rows.
struct RoundRowsLaunch {
  DeviceMatrix x;
  DeviceSpan y;
  std::int64_t stride = 0;
};

// y = bias, or y += bias where `add`, in every row. y has rows.
struct StartRowsLaunch {
  DeviceMatrix bias;
  DeviceMatrix y;
  bool add = false;
};

// Of a row, as BestArgs (core/ops/read_row.h). `found` holds pairs, a token and
// the bits of its logit: the first token whose logit is no number, then `count`
// of the best. Token -1: none.
struct BestLaunch {
  DeviceMatrix logits;
  int used = 0;
  int count = 1;
  DeviceSpan found;
};

// Reads all of `numbers`, which are 0; `odd` is a word that stays as it is.
struct ReadAllLaunch {
  DeviceSpan numbers;
  DeviceSpan odd;
  int blocks = 1;
};

struct MultiplyAllLaunch {
  static constexpr int kThreads = 256;
  WeightFormat format = WeightFormat::kF32;
  DeviceSpan odd;
  int blocks = 1;
  int rounds = 1;
};

struct OpKernels {
  void (*embed)(CudaDevice& device, const EmbedLaunch& launch);
  void (*linear)(CudaDevice& device, const LinearLaunch& launch);
  void (*store_kv)(CudaDevice& device, const StoreKvLaunch& launch);
  void (*move_kv)(CudaDevice& device, const MoveKvLaunch& launch);
  void (*attention)(CudaDevice& device, const AttentionLaunch& launch);
  void (*attention_mass)(CudaDevice& device, const AttentionMassLaunch& launch);
  std::size_t (*linear_scratch)(const LinearLaunch& launch);
  std::size_t (*attention_scratch)(const AttentionLaunch& launch);
  std::size_t (*attention_mass_scratch)(const AttentionMassLaunch& launch);
  void (*norm)(CudaDevice& device, const NormLaunch& launch);
  void (*rotate)(CudaDevice& device, const RotateLaunch& launch);
  void (*rotate_store)(CudaDevice& device, const RotateStoreLaunch& launch);
  void (*activate)(CudaDevice& device, const ActivateLaunch& launch);
  void (*copy)(CudaDevice& device, const CopyLaunch& launch);
  void (*round_rows)(CudaDevice& device, const RoundRowsLaunch& launch);
  void (*start_rows)(CudaDevice& device, const StartRowsLaunch& launch);
  void (*best)(CudaDevice& device, const BestLaunch& launch);
  void (*read_all)(CudaDevice& device, const ReadAllLaunch& launch);
  void (*multiply_all)(CudaDevice& device, const MultiplyAllLaunch& launch);
  // Additions and multiplications.
  double (*multiply_all_operations)(const MultiplyAllLaunch& launch);
  const struct RoundKernels* rounds;  // round_kernels.h
};

namespace on_host {
extern const OpKernels kOpKernels;
}
namespace on_nvidia {
extern const OpKernels kOpKernels;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_KERNELS_OP_KERNELS_H_
