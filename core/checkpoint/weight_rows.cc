#include "core/checkpoint/weight_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/panels/four_bits.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"

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

// Number `i` of a block, by its fifth bit and its half of a byte.
int Five(const std::uint8_t* fifth, const std::uint8_t* halves, int i) {
  const int half =
      i < kSmall / 2 ? Low(halves[i]) : High(halves[i - kSmall / 2]);
  return half | (fifth[i / 8] >> (i % 8) & 1) << 4;
}

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

// Scale, the fifth bits of all numbers, then as Q4_0.
void Q5_0(const std::uint8_t* in, float* out) {
  const float scale = Half(in);
  for (int i = 0; i < kSmall; ++i)
    out[i] = scale * static_cast<float>(Five(in + 2, in + 6, i) - 16);
}

// Scale, least number, the fifth bits, then as Q4_1.
void Q5_1(const std::uint8_t* in, float* out) {
  const float scale = Half(in);
  const float least = Half(in + 2);
  for (int i = 0; i < kSmall; ++i)
    out[i] = scale * static_cast<float>(Five(in + 4, in + 8, i)) + least;
}

// Scale, then a signed byte a number.
void Q8_0(const std::uint8_t* in, float* out) {
  const float scale = Half(in);
  for (int i = 0; i < kSmall; ++i)
    out[i] = scale * static_cast<float>(static_cast<std::int8_t>(in[2 + i]));
}

// Scale and offset of one of the eight parts of a large block.
struct Part {
  float scale;
  float offset;
};
Part PartOf(const std::uint8_t* in, int part) {
  const auto [scale, offset] = SixBitsOf(in + 4, part);
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
    case DType::kQ5_0:
      return Q5_0(in, out);
    case DType::kQ5_1:
      return Q5_1(in, out);
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

namespace {

static_assert(std::endian::native == std::endian::little,
              "stored numbers are little-endian and are copied as they are");

// Writes `count` numbers, stored as `Bits` from `from` on, to `out`. Returns
// whether all magnitudes are, as bits, at most `most`: the others, and among
// them the infinities and NaNs, are moved past the highest bit of a magnitude.
template <typename Bits, float (*kToFloat)(Bits)>
bool ToFloats(const std::byte* from, std::size_t count, Bits most, float* out) {
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() >> 1;
  const auto rest = static_cast<Bits>(kMagnitude - most);
  Bits seen = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof(Bits));
    out[i] = kToFloat(bits);
    seen = static_cast<Bits>(seen | ((bits & kMagnitude) + rest));
  }
  return seen <= kMagnitude;
}

float FloatFromF32(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Of numbers of this type that are to be kept as `format`, which takes all F16
// and BF16 there are.
bool ToFloats(DType dtype, const std::byte* from, std::size_t count,
              WeightFormat format, float* out) {
  switch (dtype) {
    case DType::kF32: {
      const auto most = std::bit_cast<std::uint32_t>(LargestWeight(format));
      return ToFloats<std::uint32_t, FloatFromF32>(from, count, most, out);
    }
    case DType::kF16:
      return ToFloats<std::uint16_t, FloatFromF16>(from, count, 0x7bff, out);
    case DType::kBf16:
      return ToFloats<std::uint16_t, FloatFromBf16>(from, count, 0x7f7f, out);
    default: {
      // bf16 and q8 hold more than what a block may give.
      const float most = LargestWeight(format);
      return FloatsFromBlocks(dtype, from, count, out) &&
             std::all_of(out, out + count,
                         [most](float x) { return std::fabs(x) <= most; });
    }
  }
}

// A stored row holds one column of `source`. It is read a strip of rows at a
// time, few enough that the lines written to seldom drive each other out of the
// nearest cache. Returns as ToFloats.
bool ReadTransposed(const StoredTensor& tensor, const WeightSource& source,
                    const RowRange& range, float* out) {
  constexpr int kStrip = 16;
  std::array<float, kStrip> strip;
  const auto size = static_cast<std::size_t>(DTypeBytes(tensor.dtype));
  const auto all_rows = static_cast<std::size_t>(tensor.shape[1]);
  const auto columns = static_cast<std::size_t>(source.columns);
  bool finite = true;
  for (int done = 0; done < range.count; done += kStrip) {
    const auto rows =
        static_cast<std::size_t>(std::min(kStrip, range.count - done));
    const auto row = static_cast<std::size_t>(source.first_row) +
                     static_cast<std::size_t>(range.first + done);
    float* to = out + static_cast<std::size_t>(done) * columns;
    for (std::size_t column = 0; column < columns; ++column) {
      finite &= ToFloats(tensor.dtype,
                         tensor.data.data() + (column * all_rows + row) * size,
                         rows, range.format, strip.data());
      for (std::size_t i = 0; i < rows; ++i)
        to[i * columns + column] = strip[i];
    }
  }
  return finite;
}

// The bytes of a stored row, and where row `row` of `source` begins.
std::size_t RowBytes(const StoredTensor& tensor, const WeightSource& source) {
  return static_cast<std::size_t>(source.columns / DTypeBlock(tensor.dtype) *
                                  DTypeBytes(tensor.dtype));
}
const std::byte* RowAt(const StoredTensor& tensor, const WeightSource& source,
                       int row) {
  return tensor.data.data() + (static_cast<std::size_t>(source.first_row) +
                               static_cast<std::size_t>(row)) *
                                  RowBytes(tensor, source);
}

// Rows that lie one after another.
bool ReadTogether(const StoredTensor& tensor, const WeightSource& source,
                  const RowRange& range, float* out) {
  const auto columns = static_cast<std::size_t>(source.columns);
  const std::byte* from = RowAt(tensor, source, range.first);
  return ToFloats(tensor.dtype, from,
                  static_cast<std::size_t>(range.count) * columns, range.format,
                  out);
}

// Where the row stands among rows in pairs (StoredTensor::paired_rows).
int PairedRow(int row, int head) {
  const int at = row % head;
  return row - at + (at < head / 2 ? 2 * at : 2 * (at - head / 2) + 1);
}

bool ReadPaired(const StoredTensor& tensor, const WeightSource& source,
                const RowRange& range, float* out) {
  bool finite = true;
  for (int i = 0; i < range.count; ++i)
    finite &= ReadTogether(
        tensor, source,
        {PairedRow(range.first + i, tensor.paired_rows), 1, range.format},
        out + std::ptrdiff_t{i} * source.columns);
  return finite;
}

// Returns the error for the first number that is too large; there is one. Row
// and column are those in the file, or of a packed model (`tensor` is null)
// those in the file that was packed.
absl::Status NotFinite(const WeightSource& source, const RowRange& range,
                       const float* numbers,
                       const StoredTensor* tensor = nullptr) {
  const float most = LargestWeight(range.format);
  std::size_t at = 0;
  while (std::fabs(numbers[at]) <= most) ++at;
  const auto columns = static_cast<std::size_t>(source.columns);
  int in_source = range.first + static_cast<int>(at / columns);
  if (tensor != nullptr && tensor->paired_rows > 0)
    in_source = PairedRow(in_source, tensor->paired_rows);
  auto row = static_cast<std::size_t>(source.first_row + in_source);
  std::size_t column = at % columns;
  if (source.transposed != (tensor != nullptr && tensor->turned))
    std::swap(row, column);
  return absl::InvalidArgumentError(absl::StrCat(
      "row ", row, ", column ", column, ": expected a ",
      std::isfinite(numbers[at])
          ? absl::StrCat("number that ", Name(range.format), " can hold")
          : "finite number",
      ", found ", numbers[at]));
}

// Rows that stand in panels. They were finite when they were packed.
absl::Status ReadPacked(const StoredTensor& tensor, const WeightSource& source,
                        const RowRange& range, float* out) {
  for (int i = 0; i < range.count; ++i) {
    const int row = source.first_row + range.first + i;
    const auto holds = [row](const PackedRows& rows) {
      return row >= rows.first && row < rows.first + rows.rows;
    };
    const auto found =
        std::find_if(tensor.packed.begin(), tensor.packed.end(), holds);
    Check(found != tensor.packed.end() &&
              found->matrix->columns == source.columns,
          "a pack has each row of its tensors");
    BANYAN_ASSIGN_OR_RETURN(const std::byte* const panel, found->Panel(row));
    ReadPanelRow(found->matrix->format, source.columns, panel,
                 (found->at + row - found->first) % kPanelRows,
                 out + std::ptrdiff_t{i} * source.columns);
  }
  BANYAN_RETURN_IF_ERROR(tensor.CheckWhole());
  const auto numbers = static_cast<std::size_t>(range.count) *
                       static_cast<std::size_t>(source.columns);
  return std::all_of(out, out + numbers,
                     [](float number) { return std::isfinite(number); })
             ? absl::OkStatus()
             : NotFinite(source, range, out);
}

}  // namespace

absl::Status CheckStored(const StoredTensor& tensor,
                         const WeightSource& source) {
  if (tensor.shape != source.stored_shape)
    return absl::InvalidArgumentError(
        absl::StrCat("expected shape ", ShapeText(source.stored_shape),
                     ", found ", ShapeText(tensor.shape)));
  const DType dtype = tensor.dtype;
  if (!tensor.packed.empty() && source.transposed != tensor.turned)
    return absl::InvalidArgumentError(absl::StrCat(
        "expected it packed with its ", source.transposed ? "columns" : "rows",
        " as rows, found it turned"));
  if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16)
    return absl::OkStatus();
  if (DTypeBlock(dtype) > 1 && source.columns % DTypeBlock(dtype) == 0 &&
      source.transposed == tensor.turned)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected F32, F16 or BF16, found ", DTypeName(dtype)));
}

absl::Status ReadRows(const StoredTensor& tensor, const WeightSource& source,
                      const RowRange& rows, float* out) {
  Check(rows.first >= 0 && rows.count >= 0 &&
            rows.count <= source.rows - rows.first,
        "the rows exist");
  if (rows.count == 0) return absl::OkStatus();  // there may be no data
  if (!tensor.packed.empty()) return ReadPacked(tensor, source, rows, out);
  const bool finite = source.transposed != tensor.turned
                          ? ReadTransposed(tensor, source, rows, out)
                      : tensor.paired_rows > 0
                          ? ReadPaired(tensor, source, rows, out)
                          : ReadTogether(tensor, source, rows, out);
  BANYAN_RETURN_IF_ERROR(tensor.CheckWhole());
  return finite ? absl::OkStatus() : NotFinite(source, rows, out, &tensor);
}

absl::Status ReadBlocks(const StoredTensor& tensor, const WeightSource& source,
                        const RowRange& rows, std::byte* out) {
  const std::size_t bytes = RowBytes(tensor, source);
  for (int i = 0; i < rows.count; ++i) {
    int row = rows.first + i;
    if (tensor.paired_rows > 0) row = PairedRow(row, tensor.paired_rows);
    std::memcpy(out + static_cast<std::size_t>(i) * bytes,
                RowAt(tensor, source, row), bytes);
  }
  return tensor.CheckWhole();
}

}  // namespace banyan
