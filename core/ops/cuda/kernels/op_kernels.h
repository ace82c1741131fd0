// The kernels of the ops, as two makers make them: what a backend calls, and
// the layouts that are its own. Ops have the arguments of DeviceOps where these
// are all that a kernel needs. Plain types, for nvcc reads this too.
//
// Every launch is asked of the device and done in its order.
#ifndef BANYAN_CORE_OPS_CUDA_KERNELS_OP_KERNELS_H_
#define BANYAN_CORE_OPS_CUDA_KERNELS_OP_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan {

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
  RowPairs pairs = {};      // whose rows stand side by side (RowOrder)
};

// Sums of squares of rows (NormArgs::squares).
struct SquaresLaunch {
  Tensor x;
  Tensor squares;
};

struct EmbedLaunch {
  DeviceSpan ids;
  DeviceWeight table;
  Tensor y;
  bool add = false;
};

inline constexpr int kMostSequences = 8;

// Whether one launch stores the rows of all these sequences.
inline bool StoresAtOnce(const RotateStoreArgs& args) {
  return !args.sequences.empty() && args.sequences.size() <= kMostSequences;
}

struct LinearLaunch {
  Tensor x;
  DeviceWeight weight;
  Tensor bias;
  Tensor y;
  bool add = false;
  Tensor squares;  // of y, not with f32; may be empty
  // What is done with y in its place: at most one of them, not with f32.
  const ActivateArgs* activate = nullptr;
  const RotateStoreArgs* store = nullptr;  // of at most kMostSequences
  DeviceSpan scratch;  // linear_scratch(this) bytes, for this launch alone
  // Not with f32: it is taken of x by the product itself, has squares, no bias
  // and does not center.
  const NormArgs* norm = nullptr;
};

// Caches hold keys and values by head, then by slot, KvWidth(head_dim)
// bfloat16s each, of which those from head_dim on are 0: attention goes along
// 32 of them at a time.
constexpr int KvWidth(int head_dim) { return (head_dim + 31) / 32 * 32; }

struct MoveKvLaunch {
  const KvCache* from;  // null: `cache`
  const KvCache* cache;
  DeviceSpan slots;  // 32-bit integers
  int first_slot = 0;
};

// Rows of `stride` bfloat16s, zeros from x.columns on. x has rows.
struct RoundRowsLaunch {
  Tensor x;
  DeviceSpan y;
  std::int64_t stride = 0;
};

// y = bias, or y += bias where `add`, in every row. y has rows.
struct StartRowsLaunch {
  Tensor bias;
  Tensor y;
  bool add = false;
};

// Of a row, as BestArgs (core/ops/device_ops.h). `found` holds pairs, a token
// and the bits of its logit: the first token whose logit is no number, then
// `count` of the best. Token -1: none.
struct BestLaunch {
  Tensor logits;
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

struct RoundSpans;
struct DistributionLaunch;
struct SelectArgs;
struct DrawArgs;
struct KeepArgs;

struct OpKernels {
  void (*embed)(CudaDevice& device, const EmbedLaunch& launch);
  void (*linear)(CudaDevice& device, const LinearLaunch& launch);
  void (*store_kv)(CudaDevice& device, const StoreKvArgs& args);
  void (*move_kv)(CudaDevice& device, const MoveKvLaunch& launch);
  // Of one to kMostSequences sequences. Takes attention_scratch(all) bytes.
  void (*attention)(CudaDevice& device, absl::Span<const AttentionArgs> all,
                    DeviceSpan scratch);
  // Takes attention_mass_scratch(args) bytes.
  void (*attention_mass)(CudaDevice& device, const AttentionMassArgs& args,
                         DeviceSpan scratch);
  std::size_t (*linear_scratch)(const LinearLaunch& launch);
  std::size_t (*attention_scratch)(absl::Span<const AttentionArgs> all);
  std::size_t (*attention_mass_scratch)(const AttentionMassArgs& args);
  void (*norm)(CudaDevice& device, const NormArgs& args);
  void (*squares)(CudaDevice& device, const SquaresLaunch& launch);
  void (*rotate)(CudaDevice& device, const RotateArgs& args);
  void (*rotate_store)(CudaDevice& device, const RotateStoreArgs& args);
  void (*activate)(CudaDevice& device, const ActivateArgs& args);
  void (*copy)(CudaDevice& device, const CopyArgs& args);
  void (*round_rows)(CudaDevice& device, const RoundRowsLaunch& launch);
  void (*start_rows)(CudaDevice& device, const StartRowsLaunch& launch);
  void (*best)(CudaDevice& device, const BestLaunch& launch);
  void (*read_all)(CudaDevice& device, const ReadAllLaunch& launch);
  void (*multiply_all)(CudaDevice& device, const MultiplyAllLaunch& launch);
  // Additions and multiplications.
  double (*multiply_all_operations)(const MultiplyAllLaunch& launch);
  // The steps of a round, whose arguments are in round_args.h and
  // round_spans.h.
  void (*select)(CudaDevice& device, const RoundSpans& round,
                 const SelectArgs& args);
  void (*merge)(CudaDevice& device, const RoundSpans& round);
  void (*distributions)(CudaDevice& device, const RoundSpans& round,
                        const DistributionLaunch& launch);
  void (*draw)(CudaDevice& device, const RoundSpans& round,
               const DrawArgs& args);
  void (*judge)(CudaDevice& device, const RoundSpans& round);
  void (*keep)(CudaDevice& device, const RoundSpans& round,
               const KeepArgs& args);
};

namespace on_host {
extern const OpKernels kOpKernels;
}
namespace on_nvidia {
extern const OpKernels kOpKernels;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_KERNELS_OP_KERNELS_H_
