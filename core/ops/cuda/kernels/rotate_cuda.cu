// Rotate: a warp a head of a row. A lane has every 32nd pair of numbers;
// squares are added pair by pair, then along lanes by halves.
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/stored_rows.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kWarps = 4;

// One head of a row, turned. All lanes of a warp come along.
struct Turned {
  Turned(CudaDevice& device, const RotateArgs& args)
      : x(device, args.x),
        head_dim(args.head_dim),
        angles(device, args.angles),
        norm_weight(device, args.norm_weight),
        epsilon(args.epsilon),
        scale(args.scale) {}

  BANYAN_DEVICE int heads() const { return x.columns / head_dim; }

  // What the head is multiplied by for its norm.
  BANYAN_DEVICE float SizeOf(const Thread& t, int row, int first) const {
    if (norm_weight.empty()) return 1;
    float squares = 0;
    for (int i = t.lane(); i < head_dim; i += 32) {
      const float number = x.Read(row, first + i);
      squares = fmaf(number, number, squares);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
      squares += t.ShuffleXor(squares, lanes);
    t.SyncWarp();  // all have read what may be written now
    squares /= static_cast<float>(head_dim);
    return IsFinite(squares) ? 1.0F / sqrtf(squares + epsilon)
                             : squares - squares;
  }

  struct Pair {
    float a;
    float b;
  };
  // Numbers i and i + head_dim / 2.
  BANYAN_DEVICE Pair At(int row, int first, int i, float by) const {
    const int half = head_dim / 2;
    Pair pair = {x.Read(row, first + i), x.Read(row, first + half + i)};
    if (!norm_weight.empty()) {
      pair.a = pair.a * by * norm_weight.Read(0, i);
      pair.b = pair.b * by * norm_weight.Read(0, half + i);
    }
    if (!angles.empty()) {
      const float cosine = angles.Read(row, i);
      const float sine = angles.Read(row, half + i);
      const float turned = fmaf(pair.a, cosine, -(pair.b * sine));
      pair.b = fmaf(pair.b, cosine, pair.a * sine);
      pair.a = turned;
    }
    return {pair.a * scale, pair.b * scale};
  }
  BANYAN_DEVICE void Turn(const Thread& t, int row, int head) const {
    const int first = head * head_dim;
    const float by = SizeOf(t, row, first);
    for (int i = t.lane(); i < head_dim / 2; i += 32) {
      const Pair pair = At(row, first, i, by);
      x.Write(row, first + i, pair.a);
      x.Write(row, first + head_dim / 2 + i, pair.b);
    }
  }

  Matrix<float> x;
  int head_dim;
  Matrix<const float> angles;
  Matrix<const float> norm_weight;
  float epsilon;
  float scale;
};

struct RotateKernel {
  static constexpr const char* kName = "rotate";
  static constexpr bool kAwaits = true;
  Turned turned;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int item = t.block() * kWarps + t.warp();
    if (item >= turned.x.rows * turned.heads()) return;  // a whole warp
    turned.Turn(t, item / turned.heads(), item % turned.heads());
  }
};

// A warp a head of a row: queries are turned in place, keys on their way into
// the cache, values go there. Half a head is an even number of numbers.
struct RotateStoreKernel {
  static constexpr const char* kName = "rotate_store";
  static constexpr bool kAwaits = true;
  Turned queries;
  Turned keys;
  Matrix<const float> values;
  StoredRows store;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int heads = queries.heads() + 2 * store.kv_heads();
    const int item = t.block() * kWarps + t.warp();
    if (item >= queries.x.rows * heads) return;
    const int row = item / heads;
    int head = item % heads;
    if (head < queries.heads()) return queries.Turn(t, row, head);
    head -= queries.heads();
    if (head < store.kv_heads())
      StoreKey(t, row, head, store.At(row, head));
    else
      StoreValue(t, row, head - store.kv_heads(),
                 store.At(row, head - store.kv_heads()));
  }

  BANYAN_DEVICE void StoreKey(const Thread& t, int row, int head,
                              const StoredRows::Place& to) const {
    const int half = store.head_dim() / 2;
    const int first = head * store.head_dim();
    const float by = keys.SizeOf(t, row, first);
    for (int i = t.lane() * 2; i < half; i += 64) {
      const Turned::Pair low = keys.At(row, first, i, by);
      const Turned::Pair high = keys.At(row, first, i + 1, by);
      to.cache.keys.Write(to.word + i / 2, Bf16Pair(low.a, high.a));
      to.cache.keys.Write(to.word + (half + i) / 2, Bf16Pair(low.b, high.b));
    }
  }
  BANYAN_DEVICE void StoreValue(const Thread& t, int row, int head,
                                const StoredRows::Place& to) const {
    const int first = head * store.head_dim();
    for (int i = t.lane() * 2; i < store.head_dim(); i += 64)
      to.cache.values.Write(to.word + i / 2,
                            Bf16Pair(values.Read(row, first + i),
                                     values.Read(row, first + i + 1)));
  }
};

}  // namespace

void LaunchRotate(CudaDevice& device, const RotateArgs& args) {
  const int items = args.x.rows * (args.x.columns / args.head_dim);
  if (items == 0) return;
  Launch(device,
         {.blocks = (items + kWarps - 1) / kWarps, .threads = kWarps * 32},
         RotateKernel{{device, args}});
}

void LaunchRotateStore(CudaDevice& device, const RotateStoreArgs& args) {
  const StoreKvArgs& first = args.sequences.front();
  Tensor values = first.values;  // of all sequences
  values.rows = args.queries.x.rows;
  const int items =
      args.queries.x.rows * (args.queries.x.columns / args.queries.head_dim +
                             2 * first.cache->kv_heads);
  if (items == 0) return;
  Launch(device,
         {.blocks = (items + kWarps - 1) / kWarps, .threads = kWarps * 32},
         RotateStoreKernel{{device, args.queries},
                           {device, args.keys},
                           {device, values},
                           {device, args.sequences}});
}

}  // namespace banyan::BANYAN_MAKER
