#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/device/host_buffer.h"
#include "core/ops/backend.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/gauge.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/linear_tiles-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/cpu/tile_q8-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

// Independent sums, enough to hide an instruction's delay.
constexpr std::size_t kSumsAtOnce = 12;

// The sum of `size` floats, a multiple of kSumsAtOnce * kLane.
float ReadAll(const float* x, std::size_t size) {
  const FloatTag d;
  Float sums[kSumsAtOnce];
  for (Float& sum : sums) sum = hn::Zero(d);
  for (std::size_t i = 0; i < size; i += kSumsAtOnce * kWidth) {
#pragma GCC unroll 12
    for (std::size_t j = 0; j < kSumsAtOnce; ++j)
      sums[j] = hn::Add(sums[j], hn::LoadU(d, x + i + j * kWidth));
  }
  for (std::size_t j = 1; j < kSumsAtOnce; ++j)
    sums[0] = hn::Add(sums[0], sums[j]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

// `rounds` times kSumsAtOnce fused multiply-adds of kLane numbers.
float MultiplyFloats(std::size_t rounds) {
  const FloatTag d;
  Float sums[kSumsAtOnce];
  for (Float& sum : sums) sum = hn::Set(d, 1.0F);
  const Float a = hn::Set(d, 0.999F);
  const Float b = hn::Set(d, 0.001F);
  for (std::size_t i = 0; i < rounds * kParts; ++i) {
#pragma GCC unroll 12
    for (std::size_t j = 0; j < kSumsAtOnce; ++j) sums[j] = Fma(sums[j], a, b);
  }
  for (std::size_t j = 1; j < kSumsAtOnce; ++j)
    sums[0] = hn::Add(sums[0], sums[j]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

// `rounds` times four products in tile registers, whoever has them.
std::int32_t MultiplyInTiles(TileMaker maker, std::size_t rounds) {
#if HWY_ARCH_X86_64
  return maker == TileMaker::kAmx ? MultiplyRegisters<AmxTiles>(rounds)
                                  : MultiplyRegisters<MadeTiles>(rounds);
#else
  return 0;
#endif
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(MultiplyInTiles);
HWY_EXPORT(ReadAll);
HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyBytes);

// Numbers that every thread reads in one go.
constexpr std::size_t kStep = kLane * 12;
// Steps of arithmetic in a piece, some ten microseconds.
constexpr std::size_t kRounds = 20000;
// A measurement takes at least this long.
constexpr std::int64_t kLeastNs = 4'000'000;

class CpuGauge : public Gauge {
 public:
  CpuGauge(CpuBackend& backend, std::unique_ptr<HostBuffer> buffer,
           const Clock& clock)
      : backend_(backend), buffer_(std::move(buffer)), clock_(clock) {}

  absl::StatusOr<double> ReadBandwidth() override;
  // 32-bit fused multiply-adds, and the 8-bit products of quantised weights,
  // from registers; in tile registers bfloat16 products, two parts of a number
  // for one.
  absl::StatusOr<double> Peak(WeightFormat format) override {
    if (format == WeightFormat::kBf16 && backend_.tiles() != TileMaker::kNone)
      return TilePeak();
    return IsQuantised(format) ? Int8Peak() : F32Peak();
  }

 private:
  double TilePeak();
  double F32Peak();
  double Int8Peak();
  double Measure(double amount,
                 absl::FunctionRef<bool(int, std::size_t)> piece);

  CpuBackend& backend_;
  std::unique_ptr<HostBuffer> buffer_;
  const Clock& clock_;
};

// `amount` a round of pieces, again and again, a second. A piece says whether
// its result is one that cannot be, so that no compiler leaves it out.
double CpuGauge::Measure(double amount,
                         absl::FunctionRef<bool(int, std::size_t)> piece) {
  std::atomic<int> odd = 0;
  double total = 0;
  const std::int64_t start = clock_.NowNs();
  std::int64_t now = start;
  for (; now - start < kLeastNs; now = clock_.NowNs()) {
    backend_.RunPieces([&](int number, std::size_t kernel) {
      if (piece(number, kernel)) ++odd;
    });
    total += amount;
  }
  return odd > 0 ? 0 : total / static_cast<double>(now - start) * 1e9;
}

absl::StatusOr<double> CpuGauge::ReadBandwidth() {
  const auto threads = static_cast<std::size_t>(backend_.threads());
  const std::size_t each =
      buffer_->bytes() / sizeof(float) / threads / kStep * kStep;
  const auto* numbers = reinterpret_cast<const float*>(buffer_->data());
  return Measure(static_cast<double>(each * threads * sizeof(float)),
                 [&](int piece, std::size_t kernel) {
                   return HWY_DISPATCH_TABLE(ReadAll)[kernel](
                              numbers + static_cast<std::size_t>(piece) * each,
                              each) != 0;
                 });
}

double CpuGauge::F32Peak() {
  return Measure(2.0 * kRounds * kStep * backend_.threads(),
                 [](int /*piece*/, std::size_t kernel) {
                   return HWY_DISPATCH_TABLE(MultiplyFloats)[kernel](kRounds) <
                          0;
                 });
}

double CpuGauge::TilePeak() {
  constexpr std::size_t kProducts = 1000;  // tens of microseconds
  // Four products of 16 rows and columns by 32 numbers, of one of two parts.
  const double operations = 2.0 * 4 * 16 * 16 * 32 / 2;
  return Measure(operations * kProducts * backend_.threads(),
                 [&](int /*piece*/, std::size_t kernel) {
                   return HWY_DISPATCH_TABLE(MultiplyInTiles)[kernel](
                              backend_.tiles(), kProducts) != 0;
                 });
}

double CpuGauge::Int8Peak() {
  // Each step of a sum takes four products in each of sixteen lanes.
  return Measure(2.0 * kRounds * 4 * kStep * backend_.threads(),
                 [](int /*piece*/, std::size_t kernel) {
                   return HWY_DISPATCH_TABLE(MultiplyBytes)[kernel](kRounds) ==
                          1;
                 });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gauge>> CpuBackend::NewGauge(
    std::size_t bytes, const Clock& clock) {
  const std::size_t least =
      kStep * sizeof(float) * static_cast<std::size_t>(threads());
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> buffer,
                          HostBuffer::Allocate(std::max(bytes, least)));
  std::memset(buffer->data(), 0, buffer->bytes());  // or nothing is there
  return std::make_unique<CpuGauge>(*this, std::move(buffer), clock);
}

}  // namespace banyan
#endif  // HWY_ONCE
