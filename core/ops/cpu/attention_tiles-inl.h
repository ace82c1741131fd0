// Attention's two products in tile registers (tiles.h). Keys and values are
// 32-bit floats in the cache; here they become two bfloat16 parts, as queries
// and p do.
//
// The order of sums: numbers of a head, and positions, in blocks of 32. For
// each block the products of the high parts are added, as MultiplyPairs says,
// then those of the low parts of queries (or p) with the high ones of keys (or
// values), then the other way round. The products of two low parts, 2^-16 of
// the whole at most, are left out.
#if defined(BANYAN_CORE_OPS_CPU_ATTENTION_TILES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_ATTENTION_TILES_INL_H_
#undef BANYAN_CORE_OPS_CPU_ATTENTION_TILES_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_ATTENTION_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tiles-inl.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

constexpr std::size_t PadToPairs(std::size_t numbers) {
  return (numbers + kPairColumns - 1) / kPairColumns * kPairColumns;
}

// What a register takes: 16 rows of 16 pairs.
inline constexpr std::size_t kRegisterWords = kRegisterRows * kLane;

// Right factors in two parts, a register after the other.
struct SplitWords {
  explicit SplitWords(std::size_t registers)
      : high(registers * kRegisterWords), low(registers * kRegisterWords) {}

  std::vector<std::uint32_t> high;
  std::vector<std::uint32_t> low;
};

// Sixteen numbers of two rows as pairs, in two parts, to word `at`.
HWY_INLINE void SplitPair(const float* even, const float* odd, std::size_t at,
                          SplitWords& out) {
  const FloatTag d;
  const WordTag dw;
  const auto upper = hn::Set(dw, 0xffff0000U);
  for (std::size_t part = 0; part < kParts; ++part) {
    const Float a = hn::LoadU(d, even + part * kWidth);
    const Float b = hn::LoadU(d, odd + part * kWidth);
    const auto a_high = HighPart(a);
    const auto b_high = HighPart(b);
    const auto a_low = LowPart(a, a_high);
    const auto b_low = LowPart(b, b_high);
    const std::size_t to = at + part * kWidth;
    hn::StoreU(hn::Or(hn::ShiftRight<16>(a_high), b_high), dw,
               out.high.data() + to);
    hn::StoreU(hn::Or(hn::ShiftRight<16>(a_low), hn::And(b_low, upper)), dw,
               out.low.data() + to);
  }
}

// A row of zeros.
inline const float* NoNumbers() {
  alignas(64) static const float zeros[kLane] = {};
  return zeros;
}

#if HWY_ARCH_X86_64
// Adds a block's products of the rows in registers 4 (high) and 5 (low) to
// register kSum.
template <int kSum, class Tiles>
HWY_INLINE void AddSplitBlock(Tiles& tiles, const SplitWords& right,
                              std::size_t number) {
  tiles.template Load<6>(right.high.data() + number * kRegisterWords,
                         kRegisterBytes);
  tiles.template Load<7>(right.low.data() + number * kRegisterWords,
                         kRegisterBytes);
  tiles.template MultiplyPairs<kSum, 4, 6>();
  tiles.template MultiplyPairs<kSum, 5, 6>();
  tiles.template MultiplyPairs<kSum, 4, 7>();
}

// Adds the products of sixteen queries from row `row` on with the block of keys
// in registers 6 (high) and 7 (low) to register kSum.
template <int kSum, class Tiles>
HWY_INLINE void AddSplitRows(Tiles& tiles, const SplitRows& queries,
                             std::size_t block) {
  const SplitRows some = queries.From(kSum * kRegisterRows);
  const std::size_t at = some.Place(0, block * kPairColumns);
  tiles.template Load<4>(some.high + at, kRegisterBytes);
  tiles.template Load<5>(some.low + at, kRegisterBytes);
  tiles.template MultiplyPairs<kSum, 4, 6>();
  tiles.template MultiplyPairs<kSum, 5, 6>();
  tiles.template MultiplyPairs<kSum, 4, 7>();
}

// Products of up to 64 of `rows` split queries with sixteen split keys.
template <class Tiles>
HWY_INLINE void MultiplyPanel(Tiles& tiles, const SplitWords& keys,
                              const SplitRows& queries, int rows, float* scores,
                              std::size_t stride) {
  tiles.template Zero<0>();
  tiles.template Zero<1>();
  tiles.template Zero<2>();
  tiles.template Zero<3>();
  for (std::size_t block = 0; block < queries.stride / kPairColumns; ++block) {
    tiles.template Load<6>(keys.high.data() + block * kRegisterWords,
                           kRegisterBytes);
    tiles.template Load<7>(keys.low.data() + block * kRegisterWords,
                           kRegisterBytes);
    AddSplitRows<0>(tiles, queries, block);
    if (rows > 16) AddSplitRows<1>(tiles, queries, block);
    if (rows > 32) AddSplitRows<2>(tiles, queries, block);
    if (rows > 48) AddSplitRows<3>(tiles, queries, block);
  }
  const std::size_t bytes = stride * sizeof(float);
  tiles.template Store<0>(scores, bytes);
  if (rows > 16) tiles.template Store<1>(scores + 16 * stride, bytes);
  if (rows > 32) tiles.template Store<2>(scores + 32 * stride, bytes);
  if (rows > 48) tiles.template Store<3>(scores + 48 * stride, bytes);
}

// Products of `rows` split queries with the keys of `slots` slots of a cache,
// from slot `first` on, where a panel begins. Queries are read, and scores
// written, up to a multiple of sixteen rows.
template <class Tiles>
void MultiplySplitKeys(Tiles& tiles, const KvCache& cache, int head, int first,
                       int slots, const SplitRows& queries, int rows,
                       float* scores, std::size_t stride) {
  const host::KvView view(cache);
  const std::size_t blocks = queries.stride / kPairColumns;
  SplitWords keys(blocks);
  for (int slot = 0; slot < slots; slot += kLane) {
    const float* const panel = view.Key(head, first + slot);
    for (std::size_t k = 0; k < view.head_dim; k += 2)
      SplitPair(panel + k * kLane,
                k + 1 < view.head_dim ? panel + (k + 1) * kLane : NoNumbers(),
                k / 2 * kLane, keys);
    // Four sums at a time, which do not wait for each other.
    for (int row = 0; row < rows; row += 4 * static_cast<int>(kRegisterRows))
      MultiplyPanel(
          tiles, keys, queries.From(static_cast<std::size_t>(row)), rows - row,
          scores + static_cast<std::size_t>(row) * stride + slot, stride);
  }
}

// Adds `blocks` blocks of p times values to the sums of sixteen rows: of
// `panels` times sixteen numbers each. `p` holds these rows' blocks, `values`
// the blocks' registers, the panels of a block side by side.
template <class Tiles>
void AddSplitValues(Tiles& tiles, const SplitRows& p, std::size_t blocks,
                    const SplitWords& values, std::size_t panels, float* sums,
                    std::size_t stride) {
  const std::size_t sums_bytes = stride * sizeof(float);
  for (std::size_t first = 0; first < panels; first += 4) {
    const std::size_t count = std::min<std::size_t>(panels - first, 4);
    float* const to = sums + first * kLane;
    tiles.template Load<0>(to, sums_bytes);
    if (count > 1) tiles.template Load<1>(to + kLane, sums_bytes);
    if (count > 2) tiles.template Load<2>(to + 2 * kLane, sums_bytes);
    if (count > 3) tiles.template Load<3>(to + 3 * kLane, sums_bytes);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t at = p.Place(0, block * kPairColumns);
      tiles.template Load<4>(p.high + at, kRegisterBytes);
      tiles.template Load<5>(p.low + at, kRegisterBytes);
      const std::size_t number = block * panels + first;
      AddSplitBlock<0>(tiles, values, number);
      if (count > 1) AddSplitBlock<1>(tiles, values, number + 1);
      if (count > 2) AddSplitBlock<2>(tiles, values, number + 2);
      if (count > 3) AddSplitBlock<3>(tiles, values, number + 3);
    }
    tiles.template Store<0>(to, sums_bytes);
    if (count > 1) tiles.template Store<1>(to + kLane, sums_bytes);
    if (count > 2) tiles.template Store<2>(to + 2 * kLane, sums_bytes);
    if (count > 3) tiles.template Store<3>(to + 3 * kLane, sums_bytes);
  }
}

// Splits the values of `positions` positions as AddSplitValues reads them;
// `at(i)` says where those of position i are. Zeros follow up to a whole block.
template <class At>
void SplitValues(const At& at, std::size_t positions, std::size_t panels,
                 SplitWords& out) {
  for (std::size_t i = 0; i < PadToPairs(positions); i += 2) {
    const float* const even = i < positions ? at(i) : nullptr;
    const float* const odd = i + 1 < positions ? at(i + 1) : nullptr;
    const std::size_t block = i / kPairColumns;
    for (std::size_t panel = 0; panel < panels; ++panel)
      SplitPair(even == nullptr ? NoNumbers() : even + panel * kLane,
                odd == nullptr ? NoNumbers() : odd + panel * kLane,
                (block * panels + panel) * kRegisterWords +
                    i % kPairColumns / 2 * kLane,
                out);
  }
}
#endif  // HWY_ARCH_X86_64

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_ATTENTION_TILES_INL_H_
