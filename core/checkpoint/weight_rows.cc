#include "core/checkpoint/weight_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {
namespace {

static_assert(std::endian::native == std::endian::little,
              "stored numbers are little-endian and are copied as they are");

// Of one stored two-byte number at `from`, aligned to nothing.
std::uint16_t HalfAt(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

// Writes `count` numbers, as stored from `from` on, to `out`.
void ToFloats(DType dtype, const std::byte* from, std::size_t count,
              float* out) {
  switch (dtype) {
    case DType::kF32:
      if (count > 0) std::memcpy(out, from, count * sizeof(float));
      return;
    case DType::kF16:
      for (std::size_t i = 0; i < count; ++i)
        out[i] = FloatFromF16(HalfAt(from + 2 * i));
      return;
    case DType::kBf16:
      for (std::size_t i = 0; i < count; ++i)
        out[i] = FloatFromBf16(HalfAt(from + 2 * i));
      return;
    default:
      Check(false, "CheckStored lets no other type through");
  }
}

// A stored row holds one column of `source`. It is read a strip of rows at a
// time, few enough that the lines written to seldom drive each other out of the
// nearest cache.
void ReadTransposed(const StoredTensor& tensor, const WeightSource& source,
                    int first, int count, float* out) {
  constexpr int kStrip = 16;
  std::array<float, kStrip> strip;
  const auto size = static_cast<std::size_t>(DTypeBytes(tensor.dtype));
  const auto all_rows = static_cast<std::size_t>(tensor.shape[1]);
  const auto columns = static_cast<std::size_t>(source.columns);
  for (int done = 0; done < count; done += kStrip) {
    const auto rows = static_cast<std::size_t>(std::min(kStrip, count - done));
    const auto row = static_cast<std::size_t>(source.first_row) +
                     static_cast<std::size_t>(first + done);
    float* to = out + static_cast<std::size_t>(done) * columns;
    for (std::size_t column = 0; column < columns; ++column) {
      ToFloats(tensor.dtype,
               tensor.data.data() + (column * all_rows + row) * size, rows,
               strip.data());
      for (std::size_t i = 0; i < rows; ++i)
        to[i * columns + column] = strip[i];
    }
  }
}

}  // namespace

float FloatFromF16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {  // fraction * 2^-24, which f32 has a normal number for
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  // The biases of the exponents are 15 and 127; 31 stands for what is not
  // finite, as 255 does.
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float FloatFromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

absl::Status CheckStored(const StoredTensor& tensor,
                         const WeightSource& source) {
  if (tensor.shape != source.stored_shape)
    return absl::InvalidArgumentError(
        absl::StrCat("expected shape ", ShapeText(source.stored_shape),
                     ", found ", ShapeText(tensor.shape)));
  const DType dtype = tensor.dtype;
  if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected F32, F16 or BF16, found ", DTypeName(dtype)));
}

void ReadRows(const StoredTensor& tensor, const WeightSource& source, int first,
              int count, float* out) {
  Check(first >= 0 && count >= 0 && count <= source.rows - first,
        "the rows exist");
  if (count == 0) return;  // of an empty tensor there may be no data
  if (source.transposed) {
    ReadTransposed(tensor, source, first, count, out);
    return;
  }
  const auto columns = static_cast<std::size_t>(source.columns);
  const std::size_t skipped =
      (static_cast<std::size_t>(source.first_row) +
       static_cast<std::size_t>(first)) *
      columns * static_cast<std::size_t>(DTypeBytes(tensor.dtype));
  ToFloats(tensor.dtype, tensor.data.data() + skipped,
           static_cast<std::size_t>(count) * columns, out);
}

}  // namespace banyan
