#include "core/checkpoint/weight_blocks.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/dtype.h"
#include "core/base/finite.h"
#include "core/checkpoint/weight_rows.h"

namespace banyan {
namespace {

constexpr int kSmall = 32;   // numbers of a block of the first formats
constexpr int kLarge = 256;  // of the later ones

float Half(const std::uint8_t* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return FloatFromF16(bits);
}

int Low(std::uint8_t byte) { return byte & 0xf; }
int High(std::uint8_t byte) { return byte >> 4; }

// Scale, then sixteen bytes: the low halves are the first sixteen numbers.
void Q4_0(const std::uint8_t* in, float* out) {
  const float scale = Half(in);
  for (int i = 0; i < kSmall / 2; ++i) {
    out[i] = scale * static_cast<float>(Low(in[2 + i]) - 8);
    out[i + kSmall / 2] = scale * static_cast<float>(High(in[2 + i]) - 8);
  }
}

// Scale and least number, then as before.
void Q4_1(const std::uint8_t* in, float* out) {
  const float scale = Half(in);
  const float least = Half(in + 2);
  for (int i = 0; i < kSmall / 2; ++i) {
    out[i] = scale * static_cast<float>(Low(in[4 + i])) + least;
    out[i + kSmall / 2] = scale * static_cast<float>(High(in[4 + i])) + least;
  }
}

// Scale, then a signed byte a number.
void Q8_0(const std::uint8_t* in, float* out) {
  const float scale = Half(in);
  for (int i = 0; i < kSmall; ++i)
    out[i] = scale * static_cast<float>(static_cast<std::int8_t>(in[2 + i]));
}

// Scale and offset of one of the eight parts of a large block, six bits each,
// packed into twelve bytes.
struct Part {
  float scale;
  float offset;
};
Part PartOf(const std::uint8_t* in, int part) {
  const std::uint8_t* packed = in + 4;
  int scale = 0;
  int offset = 0;
  if (part < 4) {
    scale = packed[part] & 0x3f;
    offset = packed[part + 4] & 0x3f;
  } else {
    scale = Low(packed[part + 4]) | (packed[part - 4] >> 2 & 0x30);
    offset = High(packed[part + 4]) | (packed[part] >> 2 & 0x30);
  }
  return {Half(in) * static_cast<float>(scale),
          Half(in + 2) * static_cast<float>(offset)};
}

// Two parts share 32 bytes: the first has their low halves. With `fifth` each
// number has another bit, that of its part, in 32 bytes before them.
void Parts(const std::uint8_t* in, const std::uint8_t* fifth,
           const std::uint8_t* halves, float* out) {
  for (int part = 0; part < kLarge / kSmall; ++part) {
    const Part of = PartOf(in, part);
    for (int i = 0; i < kSmall; ++i) {
      const std::uint8_t byte = halves[part / 2 * kSmall + i];
      int number = part % 2 == 0 ? Low(byte) : High(byte);
      if (fifth != nullptr) number |= (fifth[i] >> part & 1) << 4;
      out[part * kSmall + i] =
          of.scale * static_cast<float>(number) - of.offset;
    }
  }
}

void Q4K(const std::uint8_t* in, float* out) {
  Parts(in, nullptr, in + 16, out);
}

void Q5K(const std::uint8_t* in, float* out) {
  Parts(in, in + 16, in + 48, out);
}

// Four low bits of each number, two high ones, a signed scale for each sixteen,
// then the scales' scale.
void Q6K(const std::uint8_t* in, float* out) {
  const std::uint8_t* high = in + kLarge / 2;
  const std::uint8_t* scales = high + kLarge / 4;
  const float scale = Half(scales + kLarge / 16);
  for (int at = 0; at < kLarge; ++at) {
    const int half = at / 128;
    const int quarter = at % 128 / 32;
    const int i = at % 32;
    const std::uint8_t byte = in[half * 64 + quarter % 2 * 32 + i];
    const int number = (quarter < 2 ? Low(byte) : High(byte)) |
                       (high[half * 32 + i] >> 2 * quarter & 3) << 4;
    const float own =
        scale * static_cast<float>(static_cast<std::int8_t>(scales[at / 16]));
    out[at] = own * static_cast<float>(number - 32);
  }
}

void OneBlock(DType dtype, const std::uint8_t* in, float* out) {
  switch (dtype) {
    case DType::kQ4_0:
      return Q4_0(in, out);
    case DType::kQ4_1:
      return Q4_1(in, out);
    case DType::kQ8_0:
      return Q8_0(in, out);
    case DType::kQ4K:
      return Q4K(in, out);
    case DType::kQ5K:
      return Q5K(in, out);
    case DType::kQ6K:
      return Q6K(in, out);
    default:
      Check(false, "a type of blocks");
  }
}

}  // namespace

bool FloatsFromBlocks(DType dtype, const std::byte* from, std::size_t count,
                      float* out) {
  const auto block = static_cast<std::size_t>(DTypeBlock(dtype));
  const auto bytes = static_cast<std::size_t>(DTypeBytes(dtype));
  Check(block > 1 && count % block == 0, "whole blocks");
  const auto* in = reinterpret_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < count / block; ++i)
    OneBlock(dtype, in + i * bytes, out + i * block);
  return CountFinite({out, count}) == count;
}

}  // namespace banyan
