// Tile registers made in vectors (tiles.h), and the two bfloat16 parts of a
// float that products in registers take it in.
#if defined(BANYAN_CORE_OPS_CPU_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_TILES_INL_H_
#undef BANYAN_CORE_OPS_CPU_TILES_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_TILES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/check.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tiles.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86_64
#include <xmmintrin.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

// Rounds to a bfloat16, the upper half of each word, ties away from 0.
HWY_INLINE hn::Vec<WordTag> RoundedToBf16(Float x) {
  const WordTag dw;
  return hn::Add(hn::BitCast(dw, x), hn::Set(dw, 0x8000));
}

// The high part of a number: rounded, but cut off where that would be infinite.
// What is not finite stays so.
HWY_INLINE hn::Vec<WordTag> HighPart(Float x) {
  const WordTag dw;
  const IntTag di;
  const auto magnitude = hn::And(hn::BitCast(di, x), hn::Set(di, 0x7fffffff));
  const auto large =
      hn::RebindMask(dw, hn::Gt(magnitude, hn::Set(di, 0x7f7f7fff)));
  const auto bits = hn::IfThenElse(large, hn::BitCast(dw, x), RoundedToBf16(x));
  return hn::And(bits, hn::Set(dw, 0xffff0000U));
}
// The low part, the upper half of each word: what is left, rounded.
HWY_INLINE hn::Vec<WordTag> LowPart(Float x, hn::Vec<WordTag> high) {
  return RoundedToBf16(hn::Sub(x, hn::BitCast(FloatTag(), high)));
}

// x = high + low, within 2^-17 of x below 3.39e38, 2^-15 above. One of the
// parts is not finite where x is not.
inline void SplitRow(const float* x, std::size_t size, std::size_t row,
                     const SplitRows& out) {
  const FloatTag d;
  const hn::Rebind<std::uint16_t, FloatTag> halves;
  for (std::size_t i = 0; i < out.stride; i += kWidth) {
    const std::size_t to =
        out.Place(row, i / kPairColumns * kPairColumns) + i % kPairColumns;
    const Float value = i < size ? LoadUpTo(x, i, size) : hn::Zero(d);
    const auto high = HighPart(value);
    const auto low = LowPart(value, high);
    hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(high)), halves,
               out.high + to);
    hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(low)), halves,
               out.low + to);
  }
}

#if HWY_ARCH_X86_64
// While it lives, this thread's vectors treat subnormal numbers as 0. What is
// computed then is read from and written to memory, which no compiler moves out
// of its life.
class WithoutSubnormals {
 public:
  WithoutSubnormals() : before_(_mm_getcsr()) { Set(before_ | 0x8040); }
  ~WithoutSubnormals() { Set(before_); }
  WithoutSubnormals(const WithoutSubnormals&) = delete;
  WithoutSubnormals& operator=(const WithoutSubnormals&) = delete;

 private:
  static void Set(unsigned csr) {
    asm volatile("ldmxcsr %0" ::"m"(csr) : "memory");
  }

  const unsigned before_;
};

// Sixteen columns' bfloat16s 2 k and 2 k + 1, as floats.
struct Pairs {
  HWY_INLINE explicit Pairs(const std::byte* from) {
    const FloatTag d;
    const WordTag dw;
    for (std::size_t part = 0; part < kParts; ++part) {
      const auto both = hn::LoadU(
          dw, reinterpret_cast<const std::uint32_t*>(from) + part * kWidth);
      even[part] = hn::BitCast(d, hn::ShiftLeft<16>(both));
      odd[part] = hn::BitCast(d, hn::And(both, hn::Set(dw, 0xffff0000U)));
    }
  }
  // Adds the products with the two numbers of `left`.
  HWY_INLINE void AddTo(std::uint32_t left, Float* evens, Float* odds) const {
    const FloatTag d;
    const WordTag dw;
    const Float first = hn::BitCast(d, hn::Set(dw, left << 16));
    const Float second = hn::BitCast(d, hn::Set(dw, left & 0xffff0000U));
    for (std::size_t part = 0; part < kParts; ++part) {
      evens[part] = Fma(first, even[part], evens[part]);
      odds[part] = Fma(second, odd[part], odds[part]);
    }
  }

  Float even[kParts];
  Float odd[kParts];
};

// Tile registers in memory.
class MadeTiles {
 public:
  explicit MadeTiles(const TileConfig& config) : config_(config) {
    for (int tile = 0; tile < kTileRegisters; ++tile)
      Check(config.rows[tile] >= 1 && config.rows[tile] <= kRegisterRows &&
                config.bytes[tile] >= 4 && config.bytes[tile] % 4 == 0 &&
                config.bytes[tile] <= kRegisterBytes,
            "a shape that tile registers can have");
  }

  template <int kTile>
  void Zero() {
    std::memset(tiles_[kTile], 0, sizeof(tiles_[kTile]));
  }
  template <int kTile>
  void Load(const void* from, std::size_t stride) {
    Zero<kTile>();
    const auto* at = static_cast<const std::byte*>(from);
    for (std::size_t row = 0; row < config_.rows[kTile]; ++row)
      std::memcpy(tiles_[kTile][row], at + row * stride, config_.bytes[kTile]);
  }
  template <int kTile>
  void Store(void* to, std::size_t stride) {
    auto* at = static_cast<std::byte*>(to);
    for (std::size_t row = 0; row < config_.rows[kTile]; ++row)
      std::memcpy(at + row * stride, tiles_[kTile][row], config_.bytes[kTile]);
  }
  template <int kSum, int kLeft, int kRight>
  void MultiplyPairs() {
    CheckShapes<kSum, kLeft, kRight>();
    const WithoutSubnormals flushed;
    const FloatTag d;
    for (std::size_t m = 0; m < config_.rows[kSum]; ++m) {
      Float even[kParts];
      Float odd[kParts];
      for (int part = 0; part < kParts; ++part)
        even[part] = odd[part] = hn::Zero(d);
      for (std::size_t k = 0; k < config_.rows[kRight]; ++k)
        Pairs(tiles_[kRight][k]).AddTo(Word(tiles_[kLeft][m], k), even, odd);
      for (std::size_t part = 0; part < kParts; ++part) {
        auto* sum = reinterpret_cast<float*>(tiles_[kSum][m]) + part * kWidth;
        hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::Add(even[part], odd[part])),
                   d, sum);
      }
    }
  }

 private:
  // What a processor would not execute.
  template <int kSum, int kLeft, int kRight>
  void CheckShapes() const {
    Check(config_.rows[kSum] == config_.rows[kLeft] &&
              config_.bytes[kLeft] / 4 == config_.rows[kRight] &&
              config_.bytes[kSum] == config_.bytes[kRight],
          "registers whose shapes multiply");
  }
  static std::uint32_t Word(const std::byte* row, std::size_t k) {
    std::uint32_t word;
    std::memcpy(&word, row + 4 * k, sizeof word);
    return word;
  }

  const TileConfig config_;
  alignas(
      64) std::byte tiles_[kTileRegisters][kRegisterRows][kRegisterBytes] = {};
};

#endif  // HWY_ARCH_X86_64

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_TILES_INL_H_
