// Linear on the processor: panels of the weight shared out to the threads, all
// rows of activations against a few panels before the next few are read, so
// the weight streams from memory once.
//
// The order of a sum: it starts at 0 and takes one fused multiply-add per k, in
// the order of k; a sum of zero is +0. With bfloat16 weights and tile registers
// it is that of tiles-inl.h. Then come the bias and what was in y. With kQ8 a
// block's products are summed exactly, and one fused multiply-add per block
// takes (that sum as float, times m / 127, weight.h) times the weight's scale.
// Weights of four bits do the same; where they have a least value, another one
// takes (the sum of the block's activations as float, times m / 127) times it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/host_buffer.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/host/host.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/linear.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/linear_tiles-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/cpu/tile_q4-inl.h"
#include "core/ops/cpu/tile_q8-inl.h"
#include "core/ops/cpu/tiles-inl.h"
#include "hwy/highway.h"

#ifndef BANYAN_LINEAR_CPU_ONCE_
#define BANYAN_LINEAR_CPU_ONCE_
namespace banyan {
namespace {

// Activations as LinearArgs says for quantised weights, all rows one after the
// other.
struct QuantRows {
  std::int8_t* quants;        // [row][block][32]
  float* scales;              // [row][block]
  std::int32_t* corrections;  // [row][block]
  std::size_t blocks;
};

struct Job {
  const float* x;
  std::size_t x_stride;
  int rows;
  const HostWeight* weight;
  PanelRun run;       // of the weight, in memory
  QuantRows quants;   // of quantised weights
  TileMaker tiles;    // of kBf16
  SplitRows split;    // of kBf16, with tiles
  const float* bias;  // or null
  float* y;
  std::size_t y_stride;
  bool add;
};

// Rows whose sums are kept at once: their sums of four panels fill half of a
// first-level cache. Sixty are whole tiles, 64 whole tile registers.
constexpr int kRowBlock = 60;
constexpr int kRegisterRowBlock = 64;

}  // namespace
}  // namespace banyan
#endif  // BANYAN_LINEAR_CPU_ONCE_

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

// Quantises the block x[0 .. 32) to place `at`; zeros stand from x[size] on.
// The largest magnitude is found among the bits as whole numbers, where
// infinity is above all numbers and NaN above infinity: none is lost.
HWY_INLINE void QuantiseBlock(const float* x, std::size_t size, std::size_t at,
                              const QuantRows& out) {
  constexpr std::size_t kVectors = kQ8Block / kWidth;
  const FloatTag d;
  const IntTag di;
  Float value[kVectors];
  auto most = hn::Zero(di);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kVectors; ++i) {
    value[i] = LoadUpTo(x, i * kWidth, size);
    most = hn::Max(most, hn::BitCast(di, hn::Abs(value[i])));
  }
  const auto largest =
      std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(di, most)));
  if (!std::isfinite(largest)) {
    std::fill_n(out.quants + at * kQ8Block, kQ8Block, std::int8_t{0});
    out.scales[at] = std::numeric_limits<float>::quiet_NaN();
    out.corrections[at] = 0;
    return;
  }
  const Float inverse =
      hn::Set(d, largest >= kQ8Least ? 127.0F / largest : 0.0F);
  const Float magic = hn::Set(d, 12582912.0F);  // rounds to whole numbers
  const hn::Rebind<std::int8_t, FloatTag> bytes;
  auto sum = hn::Zero(di);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kVectors; ++i) {
    const Float whole =
        hn::Sub(hn::Add(hn::Mul(value[i], inverse), magic), magic);
    const auto ints = hn::ConvertTo(di, whole);
    hn::StoreU(hn::DemoteTo(bytes, ints), bytes,
               out.quants + at * kQ8Block + i * kWidth);
    sum = hn::Add(sum, ints);
  }
  out.scales[at] = largest / 127.0F;
  out.corrections[at] = -128 * hn::GetLane(hn::SumOfLanes(di, sum));
}

// Quantises rows [first, end) of x.
void QuantiseRows(const Job& job, int first, int end) {
  const QuantRows& out = job.quants;
  const auto columns = static_cast<std::size_t>(job.weight->columns());
  for (int row = first; row < end; ++row) {
    const float* x = job.x + static_cast<std::size_t>(row) * job.x_stride;
    for (std::size_t block = 0; block < out.blocks; ++block) {
      const std::size_t begin = block * kQ8Block;
      QuantiseBlock(x + begin, columns - begin,
                    static_cast<std::size_t>(row) * out.blocks + block, out);
    }
  }
}

// Splits rows [first, end) of x.
void SplitAll(const Job& job, int first, int end) {
  const auto columns = static_cast<std::size_t>(job.weight->columns());
  for (int row = first; row < end; ++row) {
    const auto at = static_cast<std::size_t>(row);
    SplitRow(job.x + at * job.x_stride, columns, at, job.split);
  }
}

// Writes the sums of rows [first, first + rows) and panels from `panel` on.
void Finish(const Job& job, int first, int rows, int panel, int panels,
            const float* sums) {
  const FloatTag d;
  const std::size_t column = static_cast<std::size_t>(panel) * kLane;
  const std::size_t width =
      std::min(static_cast<std::size_t>(panels) * kLane,
               static_cast<std::size_t>(job.weight->rows()) - column);
  for (int row = 0; row < rows; ++row) {
    const float* from =
        sums + static_cast<std::size_t>(row) * kTilePanels * kLane;
    float* y =
        job.y + static_cast<std::size_t>(first + row) * job.y_stride + column;
    for (std::size_t i = 0; i < width; i += kWidth) {
      // Plus 0, which turns the -0 of an underflow into +0: a zero that is
      // added or left out changes nothing else.
      Float sum = hn::Add(hn::LoadU(d, from + i), hn::Zero(d));
      if (job.bias != nullptr)
        sum = hn::Add(sum, LoadUpTo(job.bias + column, i, width));
      if (job.add) sum = hn::Add(LoadUpTo(y, i, width), sum);
      StoreUpTo(sum, y, i, width);
    }
  }
}

constexpr std::size_t kSumsStride = kTilePanels * kLane;

#if HWY_ARCH_X86_64
// What RunPanels does with kBf16, in tile registers.
template <class Tiles>
void RunRegisters(const PairWeights& weights, const SplitRows& x,
                  std::size_t columns, int rows, int panels, bool follows,
                  float* sums) {
  if (rows == 1)
    RunPairRow(weights, x, columns, panels, sums);
  else
    RunPairTiles<Tiles>(weights, x, columns, rows, panels, follows, sums,
                        kSumsStride);
}
#endif

void RunPanels(const Job& job, int first_panel, int panels, int first_row,
               int rows, bool follows, float* sums) {
  const HostWeight& weight = *job.weight;
  const std::byte* at =
      job.run.at + (static_cast<std::size_t>(first_panel) - job.run.first) *
                       weight.panel_bytes();
  const auto row = static_cast<std::size_t>(first_row);
  const TileArgs args = {.x = job.x + row * job.x_stride,
                         .x_stride = job.x_stride,
                         .count = static_cast<std::size_t>(weight.columns()),
                         .sums = sums,
                         .sums_stride = kSumsStride,
                         .resume = false,
                         .follows = follows};
  const QuantRows& x = job.quants;
  const Q8Rows quants =
      Q8Rows{x.quants, x.scales, x.corrections, x.blocks}.From(row);
  const Q4Panels four = {reinterpret_cast<const std::uint8_t*>(at),
                         weight.panel_bytes(), weight.scales_offset()};
  switch (weight.format()) {
    case WeightFormat::kF32:
      RunTiles(FloatWeights{reinterpret_cast<const float*>(at), kLane,
                            weight.panel_bytes() / sizeof(float)},
               rows, panels, args);
      break;
    case WeightFormat::kBf16: {
      const PairWeights pairs = {reinterpret_cast<const std::uint32_t*>(at),
                                 weight.panel_bytes() / sizeof(std::uint32_t)};
#if HWY_ARCH_X86_64
      if (job.tiles == TileMaker::kAmx)
        return RunRegisters<AmxTiles>(pairs, job.split.From(row), args.count,
                                      rows, panels, follows, sums);
      if (job.tiles == TileMaker::kEmulated)
        return RunRegisters<MadeTiles>(pairs, job.split.From(row), args.count,
                                       rows, panels, follows, sums);
#endif
      RunTiles(pairs, rows, panels, args);
      break;
    }
    case WeightFormat::kQ8: {
      const Q8Weights q8 = {reinterpret_cast<const std::uint8_t*>(at),
                            weight.panel_bytes(), weight.scales_offset()};
      RunQ8Tiles(q8, rows, panels, quants, sums, kSumsStride);
      break;
    }
    case WeightFormat::kQ4:
      RunQ8Tiles(Q4Weights{four}, rows, panels, quants, sums, kSumsStride);
      break;
    case WeightFormat::kQ4Min:
      RunQ8Tiles(Q4MinWeights{{four}}, rows, panels, quants, sums, kSumsStride);
      break;
    case WeightFormat::kQ4Super:
      RunQ8Tiles(Q4SuperWeights{{four}}, rows, panels, quants, sums,
                 kSumsStride);
  }
}

// Panels [first, end) for all rows.
void MultiplyPanels(const Job& job, int first, int end) {
  alignas(64) float sums[kRegisterRowBlock * kSumsStride];
  const Pieces groups = Pieces::OfAtMost(kTilePanels, end - first);
  // Tile registers take whole sixteens of rows.
  const bool registers = job.tiles != TileMaker::kNone &&
                         job.weight->format() == WeightFormat::kBf16;
  const Pieces blocks =
      Pieces::OfAtMost(registers ? kRegisterRowBlock : kRowBlock, job.rows);
  const auto block_begin = [&](int b) {
    return registers ? std::min(b * kRegisterRowBlock, job.rows)
                     : blocks.first(b);
  };
  for (int g = 0; g < groups.count; ++g) {
    const int panel = first + groups.first(g);
    const int panels = groups.first(g + 1) - groups.first(g);
    for (int b = 0; b < blocks.count; ++b) {
      const int row = block_begin(b);
      const int rows = block_begin(b + 1) - row;
      // With further rows the same panels come next.
      const bool follows = g + 1 < groups.count && b + 1 == blocks.count;
      RunPanels(job, panel, panels, row, rows, follows, sums);
      Finish(job, row, rows, panel, panels, sums);
    }
  }
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(QuantiseRows);
HWY_EXPORT(SplitAll);
HWY_EXPORT(MultiplyPanels);

// Panels that share a reading of the activations.
constexpr int kPanelGroup = HWY_NAMESPACE::kTilePanels;
// So few a thread end too far apart: three between two threads are two and one.
constexpr int kFewGroups = 2;

std::size_t RoundUp(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

absl::Status CpuBackend::Linear(const LinearArgs& args) {
  BANYAN_RETURN_IF_ERROR(MakeRows(*this, args.source));
  BANYAN_RETURN_IF_ERROR(Multiply(args));
  return DoNext(*this, args.then);
}

absl::Status CpuBackend::Multiply(const LinearArgs& args) {
  const auto& weight = static_cast<const HostWeight&>(*args.weight);
  Check(args.x.columns == weight.columns() && args.y.columns == weight.rows() &&
            args.x.rows == args.y.rows,
        "shapes that do not multiply");
  Job job = {.x = host::Row(args.x, 0),
             .x_stride = args.x.stride,
             .rows = args.x.rows,
             .weight = &weight,
             .bias = args.bias.empty() ? nullptr : host::Row(args.bias, 0),
             .y = host::Row(args.y, 0),
             .y_stride = args.y.stride,
             .add = args.add};
  const auto multiply = [&](const PanelRun& run) {
    job.run = run;
    const int begin = static_cast<int>(run.first);
    const int panels = static_cast<int>(run.count);
    const double size =
        double{1} * args.x.rows * weight.columns() * panels * kPanelRows;
    // Whole groups, unless they are too few to be shared out evenly.
    const bool few = panels < kFewGroups * kPanelGroup * threads();
    const int step = few ? 1 : kPanelGroup;
    Split((panels + step - 1) / step, size, [&](int first, int end) {
      HWY_DISPATCH_TABLE(MultiplyPanels)
      [kernel_](job, begin + first * step,
                begin + std::min(end * step, panels));
    });
    return absl::OkStatus();
  };
  if (weight.format() == WeightFormat::kF32 ||
      (weight.format() == WeightFormat::kBf16 && tiles_ == TileMaker::kNone))
    return weight.ForPanels(multiply);
  job.tiles = tiles_;
  const std::lock_guard<std::mutex> lock(scratch_turn_);
  const auto rows = static_cast<std::size_t>(args.x.rows);
  const auto prepare = [&](const auto& kernels) {
    Split(args.x.rows, 10.0 * args.x.rows * weight.columns(),
          [&](int first, int end) { kernels[kernel_](job, first, end); });
  };
  if (weight.format() == WeightFormat::kBf16) {
    const std::size_t stride =
        (static_cast<std::size_t>(weight.columns()) + kPairColumns - 1) /
        kPairColumns * kPairColumns;
    // Registers read rows up to a multiple of sixteen; the last block is in a
    // 64.
    const std::size_t numbers = RoundUp(rows) * stride;
    BANYAN_RETURN_IF_ERROR(ReserveScratch(2 * numbers * sizeof(std::uint16_t)));
    auto* const base = reinterpret_cast<std::uint16_t*>(scratch_->data());
    job.split = {base, base + numbers, stride};
    prepare(HWY_DISPATCH_TABLE(SplitAll));
  } else {
    const std::size_t blocks = weight.blocks() * rows;
    const std::size_t quants = RoundUp(weight.blocks() * rows * kQ8Block);
    const std::size_t scales = RoundUp(blocks * sizeof(float));
    BANYAN_RETURN_IF_ERROR(ReserveScratch(quants + 2 * scales));
    std::byte* const base = scratch_->data();
    job.quants = {reinterpret_cast<std::int8_t*>(base),
                  reinterpret_cast<float*>(base + quants),
                  reinterpret_cast<std::int32_t*>(base + quants + scales),
                  weight.blocks()};
    prepare(HWY_DISPATCH_TABLE(QuantiseRows));
  }
  return weight.ForPanels(multiply);
}

absl::Status CpuBackend::ReserveScratch(std::size_t bytes) {
  if (scratch_ != nullptr && scratch_->bytes() >= bytes)
    return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(scratch_, HostBuffer::Allocate(bytes));
  return absl::OkStatus();
}

}  // namespace banyan
#endif  // HWY_ONCE
