// What attention leaves of each query before it is put together.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_ATTENDED_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_ATTENDED_H_

#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/scores.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

constexpr int kUnits = 8;                 // of a stretch
constexpr int kStretch = kUnits * kUnit;  // positions

// How rows, heads and positions are shared out.
//
// A shared position holds the same token for every row that sees it: those in
// whole units of committed ones, and all of a chain. A block has
// a stretch of them and sixteen queries, a tile. The other units, which pending
// tokens have a part in, are a row's own: a warp has those of a row and of up
// to sixteen of the heads that share a key.
//
// Of a query and a stretch, or a query and a unit of its own, there are partial
// results: the sum of its values, `width` numbers, the largest score and the
// sum of weights.
struct AttentionParts {
  AttentionParts() = default;
  explicit AttentionParts(const AttentionArgs& args)
      : rows(args.queries.rows),
        heads(args.heads),
        group(args.heads / args.prefix->kv_heads),
        tiles((rows * group + kQueriesOfAWarp - 1) / kQueriesOfAWarp),
        head_tiles((group + kQueriesOfAWarp - 1) / kQueriesOfAWarp),
        is_chain(args.is_chain),
        head_dim(args.prefix->head_dim),
        width(KvWidth(head_dim)) {
    // As if the last row saw every pending one.
    const int pending = args.first_pending + rows;
    const int committed = args.committed + args.length.most;
    stretches =
        (committed + (is_chain ? pending : 0) + kStretch - 1) / kStretch;
    own_units = is_chain ? 0 : (pending + 2 * (kUnit - 1)) / kUnit;
  }

  BANYAN_ANYWHERE int kv_heads() const { return heads / group; }
  BANYAN_ANYWHERE int shared_blocks() const {
    return kv_heads() * tiles * stretches;
  }
  int own_warps() const {
    return is_chain ? 0 : kv_heads() * rows * head_tiles;
  }
  // Of all partial results.
  std::size_t numbers() const {
    const std::size_t shared = std::size_t{static_cast<unsigned>(tiles)} *
                               static_cast<unsigned>(stretches) *
                               kQueriesOfAWarp;
    const std::size_t own = std::size_t{static_cast<unsigned>(rows)} *
                            static_cast<unsigned>(own_units * group);
    return static_cast<std::size_t>(kv_heads()) * (shared + own) *
           static_cast<std::size_t>(width + 4);
  }

  // The first position that is not shared.
  BANYAN_DEVICE int SharedEnd(int committed, int pending) const {
    return is_chain ? committed + pending : committed / kUnit * kUnit;
  }
  BANYAN_DEVICE std::int64_t OfStretch(int kv_head, int tile, int stretch,
                                       int query) const {
    return (((std::int64_t{kv_head} * tiles + tile) * stretches + stretch) *
                kQueriesOfAWarp +
            query) *
           (width + 4);
  }
  BANYAN_DEVICE std::int64_t OfUnit(int kv_head, int row, int unit,
                                    int head) const {
    const std::int64_t shared =
        std::int64_t{heads / group} * tiles * stretches * kQueriesOfAWarp;
    return (shared +
            ((std::int64_t{kv_head} * rows + row) * own_units + unit) * group +
            head) *
           (width + 4);
  }

  int rows = 0;
  int heads = 0;
  int group = 1;       // heads that share keys
  int tiles = 0;       // of queries, of one key head
  int head_tiles = 1;  // of a row's heads that share keys
  bool is_chain = false;
  int head_dim = 0;
  int width = 0;      // of a key
  int stretches = 0;  // of shared positions, at most
  int own_units = 0;  // of a row, at most
};

// The pending rows that a row sees, by depth.
struct Ancestors {
  Ancestors() = default;
  Ancestors(CudaDevice& device, const AttentionArgs& args)
      : visible(device,
                ListOf(args.visible,
                       static_cast<std::size_t>(args.queries.rows) *
                           static_cast<std::size_t>(args.visible_words))),
        words(args.visible_words) {}

  BANYAN_DEVICE static int Bits(std::uint32_t x) {
    x = x - (x >> 1 & 0x55555555U);
    x = (x & 0x33333333U) + (x >> 2 & 0x33333333U);
    return static_cast<int>((((x + (x >> 4)) & 0x0f0f0f0fU) * 0x01010101U) >>
                            24);
  }
  BANYAN_DEVICE std::uint32_t Word(int row, int word) const {
    return static_cast<std::uint32_t>(
        visible.Read(std::int64_t{row} * words + word));
  }
  BANYAN_DEVICE int Count(int row) const {
    int count = 0;
    BANYAN_ROLL for (int word = 0; word < words; ++word) count +=
        Bits(Word(row, word));
    return count;
  }
  // Of the one at this depth, from 0.
  BANYAN_DEVICE int Place(int row, int depth) const {
    int word = 0;
    std::uint32_t bits = Word(row, 0);
    BANYAN_ROLL for (int here = Bits(bits); depth >= here; here = Bits(bits)) {
      depth -= here;
      bits = Word(row, ++word);
    }
    BANYAN_ROLL for (; depth > 0; --depth) bits &= bits - 1;
    return word * 32 + Bits((bits & (~bits + 1)) - 1);
  }

  Global<const std::int32_t> visible;
  int words = 0;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_ATTENDED_H_
