// The tile: a few rows of activations times a few panels of a weight, all sums
// in registers. Linear and attention are loops over tiles.
//
// Each sum takes its products one by one in the order of k, so it does not
// matter how many rows and panels share a tile, nor into how many stretches of
// k the work is cut: sums are stored and loaded between stretches unchanged.
#if defined(BANYAN_CORE_OPS_CPU_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_TILE_INL_H_
#undef BANYAN_CORE_OPS_CPU_TILE_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_TILE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

inline constexpr int kTileRows = 6;  // at most
inline constexpr int kTilePanels = 4;

// Registers for sums: what is left beside a panel's weights and one activation
// of 32 (AVX-512, NEON) or 16 registers.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_EMU128 || \
    HWY_TARGET == HWY_SCALAR
inline constexpr bool kFewRegisters = true;
#else
inline constexpr bool kFewRegisters = false;
#endif
inline constexpr int kSums = kFewRegisters ? 12 : 24;

// The most panels that a tile of `rows` rows takes at once.
constexpr int PanelsFor(int rows) {
  return std::clamp(kSums / (rows * kParts), 1, kTilePanels);
}

// Panels to prefetch while others are multiplied.
struct Wanted {
  static constexpr std::size_t kLine = 64;  // bytes of a cache line

  const std::byte* at = nullptr;
  std::size_t panel = 0;  // bytes from one to the next
  int count = 0;
  std::size_t step = kLine;  // bytes from a line of a panel to the next

  // Prefetches a cache line of each panel into the second-level cache.
  HWY_INLINE void Ask(std::size_t line) const {
    for (int i = 0; i < count; ++i)
      __builtin_prefetch(at + static_cast<std::size_t>(i) * panel + line * step,
                         0, 2);
  }
};

// Floats that are `step` apart from k to k and `panel` from panel to panel.
struct FloatWeights {
  const float* at;
  std::size_t step;
  std::size_t panel;

  FloatWeights Panel(std::size_t number) const {
    return {at + number * panel, step, panel};
  }
  // Whether panels lie side by side, and not one after the other.
  bool SideBySide() const { return panel < step; }
  // Bytes from a cache line of a panel to the next.
  std::size_t LineStep() const { return step * sizeof(float); }
  const std::byte* Bytes(std::size_t number, std::size_t k) const {
    return reinterpret_cast<const std::byte*>(at + number * panel + k * step);
  }
  FloatWeights From(std::size_t k) const {
    return {at + k * step, step, panel};
  }
};

// Pairs of bfloat16, as HostWeight packs them. Stretches start at even k.
struct PairWeights {
  const std::uint32_t* at;
  std::size_t panel;  // words

  PairWeights Panel(std::size_t number) const {
    return {at + number * panel, panel};
  }
  static constexpr bool SideBySide() { return false; }
  static constexpr std::size_t LineStep() { return Wanted::kLine; }
  const std::byte* Bytes(std::size_t number, std::size_t k) const {
    return reinterpret_cast<const std::byte*>(From(k).at + number * panel);
  }
  PairWeights From(std::size_t k) const { return {at + k / 2 * kLane, panel}; }
};

struct TileArgs {
  const float* x;
  std::size_t x_stride;
  std::size_t count;  // of k
  float* sums;        // row r, panel p: sums + r * sums_stride + p * 16
  std::size_t sums_stride;
  bool resume;  // go on from what is in sums, else from 0
  // Of RunTiles: whether to prefetch as many panels that follow in memory; of
  // panels side by side, further k, which follow whole stretches of k.
  bool follows = false;
  // Of RunTiles: rows of one tile take one panel at a time, since one stream of
  // memory is read faster than several.
  bool one_stream = false;
  Wanted wanted = {};  // of RunTile: what to ask for meanwhile
};

template <int kRows, int kPanels>
struct Tile {
  static constexpr int kVectors = kPanels * kParts;

  HWY_INLINE explicit Tile(const TileArgs& args) {
    const FloatTag d;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = args.resume ? hn::LoadU(d, At(args, r, v)) : hn::Zero(d);
  }
  HWY_INLINE void Save(const TileArgs& args) const {
    const FloatTag d;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        hn::StoreU(sums[r][v], d, At(args, r, v));
  }
  // Adds the products with number k of each row; `weight` reads vector v of the
  // panels. Holds numbers or weights in registers, whichever are fewer.
  template <class Weight>
  HWY_INLINE void Add(const TileArgs& args, std::size_t k,
                      const Weight& weight) {
    const FloatTag d;
    const auto number = [&](int r) {
      return hn::Set(d,
                     args.x[static_cast<std::size_t>(r) * args.x_stride + k]);
    };
    if constexpr (kRows < kVectors) {
      Float x[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) x[r] = number(r);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const Float w = weight(v);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sums[r][v] = Fma(x[r], w, sums[r][v]);
      }
    } else {
      Float w[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) w[v] = weight(v);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Float x = number(r);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = Fma(x, w[v], sums[r][v]);
      }
    }
  }
  static HWY_INLINE float* At(const TileArgs& args, int r, int v) {
    return args.sums + static_cast<std::size_t>(r) * args.sums_stride +
           static_cast<std::size_t>(v) * kWidth;
  }

  Float sums[kRows][kVectors];
};

// Where vector `v` of some panels stands after the first, in numbers.
HWY_INLINE std::size_t VectorAt(int v, std::size_t panel) {
  return static_cast<std::size_t>(v / kParts) * panel +
         static_cast<std::size_t>(v % kParts) * kWidth;
}

template <int kRows, int kPanels>
HWY_NOINLINE void RunTile(const FloatWeights& w, const TileArgs& args) {
  const FloatTag d;
  Tile<kRows, kPanels> tile(args);
  const float* at = w.at;
  for (std::size_t k = 0; k < args.count; ++k, at += w.step) {
    args.wanted.Ask(k);
    tile.Add(args, k,
             [&](int v) { return hn::LoadU(d, at + VectorAt(v, w.panel)); });
  }
  tile.Save(args);
}

template <int kRows, int kPanels>
HWY_NOINLINE void RunTile(const PairWeights& w, const TileArgs& args) {
  const FloatTag d;
  const WordTag dw;
  // Sums fill the registers, so that no mask fits.
  constexpr bool kNoRoom = kFewRegisters && kRows * kPanels * kParts == kSums;
  Tile<kRows, kPanels> tile(args);
  const std::uint32_t* at = w.at;
  // An odd last k has a pair of its own, whose second weights are zeros. They
  // are multiplied by the last number once more, as what follows the row may be
  // anything; nothing changes but the sign of a sum of zero.
  for (std::size_t k = 0; k < args.count; k += 2, at += kLane) {
    args.wanted.Ask(k / 2);
    tile.Add(args, k, [&](int v) {
      const auto pair = hn::LoadU(dw, at + VectorAt(v, w.panel));
      return hn::BitCast(d, hn::ShiftLeft<16>(pair));
    });
    // Read anew: pairs that are kept push sums out of sixteen registers.
    const std::uint32_t* again = at;
    if constexpr (kFewRegisters) asm("" : "+r"(again));
    tile.Add(args, std::min(k + 1, args.count - 1), [&](int v) {
      const auto pair = hn::LoadU(dw, again + VectorAt(v, w.panel));
      if constexpr (kNoRoom)
        return hn::BitCast(d, hn::ShiftLeft<16>(hn::ShiftRight<16>(pair)));
      else
        return hn::BitCast(d, hn::And(pair, hn::Set(dw, 0xffff0000U)));
    });
  }
  tile.Save(args);
}

template <int kRows, class Weights>
HWY_INLINE void RunRows(const Weights& w, int panels, const TileArgs& args) {
  constexpr int kMost = PanelsFor(kRows);
  if constexpr (kMost >= 4)
    if (panels == 4) return RunTile<kRows, 4>(w, args);
  if constexpr (kMost >= 3)
    if (panels == 3) return RunTile<kRows, 3>(w, args);
  if constexpr (kMost >= 2)
    if (panels == 2) return RunTile<kRows, 2>(w, args);
  RunTile<kRows, 1>(w, args);
}

// One tile of `rows` <= kTileRows rows and `panels` <= PanelsFor(rows) panels.
template <class Weights>
HWY_INLINE void RunTile(const Weights& w, int rows, int panels,
                        const TileArgs& args) {
  switch (rows) {
    case 1:
      return RunRows<1>(w, panels, args);
    case 2:
      return RunRows<2>(w, panels, args);
    case 3:
      return RunRows<3>(w, panels, args);
    case 4:
      return RunRows<4>(w, panels, args);
    case 5:
      return RunRows<5>(w, panels, args);
    default:
      return RunRows<6>(w, panels, args);
  }
}

// All `rows` by `panels`, the sums of row r and panel p at
// sums + r * sums_stride + p * 16: k in stretches short enough that the
// panels' part stays in the first-level cache from one tile to the next.
template <class Weights>
HWY_INLINE void RunTiles(const Weights& w, int rows, int panels,
                         const TileArgs& args) {
  // Fewer panels at once leave room for longer stretches.
  constexpr std::size_t kStretch = kFewRegisters ? 256 : 128;
  const Pieces row_tiles = Pieces::OfAtMost(kTileRows, rows);
  const bool alone = row_tiles.count == 1;
  const Pieces groups = Pieces::OfAtMost(
      alone && args.one_stream ? 1 : PanelsFor(row_tiles.largest()), panels);
  const bool whole = alone && (groups.count == 1 || !w.SideBySide());
  const std::size_t stretch =
      whole ? std::max<std::size_t>(args.count, 1) : kStretch;
  const std::size_t stretches = (args.count + stretch - 1) / stretch;
  const auto count = static_cast<std::size_t>(groups.count);
  // Group by group; panels that lie side by side stretch by stretch.
  const auto group_of = [&](std::size_t turn) {
    return static_cast<int>(w.SideBySide() ? turn % count : turn / stretches);
  };
  const auto k_of = [&](std::size_t turn) {
    return (w.SideBySide() ? turn / count : turn % stretches) * stretch;
  };
  // The same panels further on, or the next panels.
  const std::size_t next = w.SideBySide() ? count : 1;
  // One tile of rows outpaces memory with long vectors; the processor's own
  // prefetching is enough then.
  const bool busy = !alone || (kParts > 1 && rows > 1 && !args.one_stream);
  // Changed field by field: copying the whole would read it in wider pieces
  // than it was just written in, which stalls the processor.
  TileArgs tile = args;
  tile.wanted.panel = static_cast<std::size_t>(w.Bytes(1, 0) - w.Bytes(0, 0));
  tile.wanted.step = w.LineStep();
  for (std::size_t turn = 0; turn < count * stretches; ++turn) {
    const int panel = groups.first(group_of(turn));
    const int end_panel = groups.first(group_of(turn) + 1);
    const std::size_t k = k_of(turn);
    const Weights group = w.Panel(static_cast<std::size_t>(panel));
    const bool ahead =
        busy && (turn + next < count * stretches || args.follows);
    const int next_panel = ahead ? groups.first(group_of(turn + next)) : 0;
    const std::size_t next_k = ahead ? k_of(turn + next) : 0;
    tile.count = std::min(stretch, args.count - k);
    tile.resume = args.resume || k > 0;
    for (int t = 0; t < row_tiles.count; ++t) {
      const auto row = static_cast<std::size_t>(row_tiles.first(t));
      tile.x = args.x + row * args.x_stride + k;
      tile.sums = args.sums + row * args.sums_stride +
                  static_cast<std::size_t>(panel) * kLane;
      if (ahead) {  // every tile asks for some of the panels
        const int first = (end_panel - panel) * t / row_tiles.count;
        const int end = (end_panel - panel) * (t + 1) / row_tiles.count;
        tile.wanted.at =
            w.Bytes(static_cast<std::size_t>(next_panel + first), next_k);
        tile.wanted.count = end - first;
      } else {
        tile.wanted.count = 0;
      }
      RunTile(group.From(k), row_tiles.first(t + 1) - row_tiles.first(t),
              end_panel - panel, tile);
    }
  }
}

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_TILE_INL_H_
