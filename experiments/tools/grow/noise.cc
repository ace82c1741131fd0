#include "experiments/tools/grow/noise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/dtype.h"
#include "core/base/fnv1a.h"

namespace banyan {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are stored little-endian, as they lie in memory");

// The step of SplitMix64 (Steele, Lea, Flood 2014); Mixed() is its finaliser.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

// A bfloat16 weight from 16 random bits: sign, fraction and the exponent's last
// bit are theirs. One in eight has the exponent -5 or -4, the others -7 or -6,
// so the mean square is
// 7/3 (7/8 (4^-7 + 4^-6) / 2 + 1/8 (4^-5 + 4^-4) / 2) = 0.032^2.
std::uint16_t WeightBits(std::uint16_t random) {
  const bool large = (random & 0x7000) == 0;
  const int exponent = 127 + (large ? -5 : -7);  // even
  return static_cast<std::uint16_t>((random & 0x80ff) | exponent << 7);
}

std::uint32_t WidenBf16(std::uint16_t bits) {
  return std::uint32_t{bits} << 16;
}

// The exponents' biases are 127 and 15, the fractions 23 and 10 bits. Below
// 2^-14 a number of F16 is a multiple of 2^-24.
std::uint16_t HalfBits(std::uint32_t bits) {
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffff);
  if (magnitude < 0x1p-14F) {
    const auto steps = static_cast<std::uint32_t>(magnitude * 0x1p24F);
    Check(static_cast<float>(steps) * 0x1p-24F == magnitude,
          "the number is one of F16");
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | steps);
  }
  const std::uint32_t exponent = (bits >> 23 & 0xff) - 112;
  Check(exponent >= 1 && exponent <= 30 && (bits & 0x1fff) == 0,
        "the number is one of F16");
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | exponent << 10 |
                                    (bits >> 13 & 0x3ff));
}

template <typename T>
void Store(T bits, std::byte* out) {
  std::memcpy(out, &bits, sizeof bits);
}

void StoreBits(std::uint32_t bits, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::kF32:
      return Store(bits, out);
    case DType::kF16:
      return Store(HalfBits(bits), out);
    case DType::kBf16:
      Check((bits & 0xffff) == 0, "the number is one of BF16");
      return Store(static_cast<std::uint16_t>(bits >> 16), out);
    default:
      Check(false, "weights are F32, F16 or BF16");
  }
}

}  // namespace

std::uint64_t Noise::Key(std::uint64_t seed, absl::string_view tensor) {
  return Mixed(
      Mixed(seed + kStep) ^
      Fnv1a(absl::MakeConstSpan(
          reinterpret_cast<const std::byte*>(tensor.data()), tensor.size())));
}

Noise::Noise(std::uint64_t key, std::int64_t row)
    : state_(Mixed(key + kStep * (static_cast<std::uint64_t>(row) + 1))) {}

std::uint64_t Noise::Next() {
  state_ += kStep;
  return Mixed(state_);
}

void Noise::Weights(DType dtype, int count, std::byte* out) {
  constexpr int kChunk = 1024;  // multiple of four
  std::array<std::uint64_t, kChunk / 4> words;
  std::array<std::uint16_t, kChunk> weights;
  const auto size = static_cast<std::size_t>(DTypeBytes(dtype));
  while (count > 0) {
    const auto here = static_cast<std::size_t>(std::min(count, kChunk));
    for (std::size_t i = 0; i < (here + 3) / 4; ++i) words[i] = Next();
    std::memcpy(weights.data(), words.data(), here * sizeof(weights[0]));
    for (std::size_t i = 0; i < here; ++i) weights[i] = WeightBits(weights[i]);
    if (dtype == DType::kBf16)
      std::memcpy(out, weights.data(), here * size);
    else
      for (std::size_t i = 0; i < here; ++i)
        StoreBits(WidenBf16(weights[i]), dtype, out + i * size);
    out += here * size;
    count -= static_cast<int>(here);
  }
}

double Noise::Gain() { return 1 + static_cast<double>(Next() % 16) / 128; }

void StoreExactly(float number, DType dtype, std::byte* out) {
  StoreBits(std::bit_cast<std::uint32_t>(number), dtype, out);
}

}  // namespace banyan
