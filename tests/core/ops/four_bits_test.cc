// Weights of four bits: their panels against the stored blocks, how numbers are
// rounded to them, and products with them.
#include "core/base/panels/four_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/weight_rows.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

constexpr DType kTypes[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ4K};

std::size_t BytesOfRow(DType type, int columns) {
  return static_cast<std::size_t>(columns / DTypeBlock(type) *
                                  DTypeBytes(type));
}

// A half with an exponent near that of a weight's scale.
void PutHalf(Dice& dice, std::byte* at) {
  const auto bits = static_cast<std::uint16_t>(
      dice.Below(2) << 15 | dice.Between(2, 12) << 10 | dice.Below(1 << 10));
  std::memcpy(at, &bits, sizeof bits);
}

// Rows of stored blocks, filled up to whole panels with zeros.
struct Stored {
  Stored(DType some_type, int some_rows, int some_columns, Dice& dice)
      : type(some_type),
        rows(some_rows),
        columns(some_columns),
        row_bytes(BytesOfRow(type, columns)),
        bytes(PanelCount(rows) * kPanelRows * row_bytes) {
    const std::size_t filled = static_cast<std::size_t>(rows) * row_bytes;
    for (std::size_t i = 0; i < filled; ++i)
      bytes[i] = static_cast<std::byte>(dice.Below(256));
    const auto block = static_cast<std::size_t>(DTypeBytes(type));
    for (std::size_t at = 0; at < filled; at += block) {
      PutHalf(dice, &bytes[at]);
      if (type != DType::kQ4_0) PutHalf(dice, &bytes[at + 2]);
    }
  }

  WeightFormat format() const { return FourBitFormat(type).value(); }

  std::unique_ptr<HostWeight> Packed() const {
    const auto make = [this](std::size_t first, absl::Span<std::byte> to) {
      const std::size_t panel = PanelBytes(format(), columns);
      for (; !to.empty(); to.remove_prefix(panel), ++first)
        PackBlocks(format(), columns, &bytes[first * kPanelRows * row_bytes],
                   to.data());
      return absl::OkStatus();
    };
    auto weight = HostWeight::Adopt(format(), rows, columns, make);
    Check(weight.ok(), weight.status().message());
    return *std::move(weight);
  }

  // As the format's own library computes it.
  std::vector<float> Row(int row) const {
    std::vector<float> numbers(static_cast<std::size_t>(columns));
    FloatsFromBlocks(type, &bytes[static_cast<std::size_t>(row) * row_bytes],
                     numbers.size(), numbers.data());
    return numbers;
  }

  DType type;
  int rows;
  int columns;
  std::size_t row_bytes;
  std::vector<std::byte> bytes;
};

TEST(FourBits, ValuesAreThoseOfTheStoredBlocks) {
  Dice dice(1);
  int cases = 0;
  for (const DType type : kTypes)
    for (const int columns : {256, 576, 768, 1536})
      for (const int rows : {1, 16, 37}) {
        if (columns % DTypeBlock(type) != 0) continue;
        const Stored stored(type, rows, columns, dice);
        const std::unique_ptr<HostWeight> packed = stored.Packed();
        for (int row = 0; row < rows; ++row) {
          std::vector<float> got(static_cast<std::size_t>(columns));
          packed->ReadRow(row, got.data());
          ASSERT_EQ(got, stored.Row(row)) << DTypeName(type) << " " << row;
        }
        ++cases;
      }
  EXPECT_EQ(cases, 33);
}

// Four and a half bits a number, five with a least value.
TEST(FourBits, TakeTheBytesOfTheStoredBlocks) {
  Dice dice(2);
  for (const DType type : kTypes) {
    const Stored stored(type, 32, 1536, dice);
    EXPECT_EQ(stored.Packed()->bytes(), stored.bytes.size()) << DTypeName(type);
    EXPECT_EQ(PackedBytes(stored.format(), 32, 1536), stored.bytes.size());
  }
}

TEST(FourBits, ScalesThatAreNoNumbersAreSeen) {
  Dice dice(3);
  for (const DType type : kTypes) {
    Stored stored(type, 16, 512, dice);
    const auto finite = [&] {
      const std::unique_ptr<HostWeight> packed = stored.Packed();
      return PanelsAreFinite(stored.format(), stored.columns,
                             {packed->panel(0), packed->panel_bytes()});
    };
    EXPECT_TRUE(finite());
    const std::size_t last =
        stored.bytes.size() - static_cast<std::size_t>(DTypeBytes(type));
    const std::uint16_t infinity = 0x7c00;
    std::memcpy(&stored.bytes[last], &infinity, sizeof infinity);
    EXPECT_FALSE(finite()) << DTypeName(type);
  }
}

// The error of a block with the whole numbers that are nearest at this scale.
double ErrorAt(const float* numbers, double scale) {
  double error = 0;
  for (int i = 0; i < kQ8Block; ++i) {
    const double q =
        scale == 0 ? 0
                   : std::clamp(std::nearbyint(numbers[i] / scale), -8.0, 7.0);
    error += std::pow(numbers[i] - scale * q, 2);
  }
  return error;
}

// Against the best of all halves that come near.
TEST(FourBits, NumbersAreRoundedByAScaleOfLeastSquares) {
  Dice dice(4);
  double got = 0;
  double best = 0;
  double by_largest = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<float> rows(std::size_t{kPanelRows} * kQ8Block);
    for (float& number : rows) {
      number = 0;
      for (int i = 0; i < 4; ++i) number += dice.Signed();
    }
    std::vector<std::byte> panel(PanelBytes(WeightFormat::kQ4, kQ8Block));
    PackPanel(WeightFormat::kQ4, kQ8Block, rows.data(), panel.data());
    for (int row = 0; row < kPanelRows; ++row) {
      const float* numbers = &rows[static_cast<std::size_t>(row) * kQ8Block];
      float read[kQ8Block];
      ReadPanelRow(WeightFormat::kQ4, kQ8Block, panel.data(), row, read);
      double error = 0;
      float most = 0;
      for (int i = 0; i < kQ8Block; ++i) {
        error += std::pow(double{numbers[i]} - read[i], 2);
        if (std::fabs(numbers[i]) > std::fabs(most)) most = numbers[i];
      }
      double least = error;
      const auto start =
          static_cast<int>(std::fabs(most) / 11 * 0x1p14F);  // halves near 1/8
      for (int step = start; step < 2 * start; ++step)
        for (const double sign : {-1.0, 1.0})
          least = std::min(least, ErrorAt(numbers, sign * step * 0x1p-14));
      got += error;
      best += least;
      by_largest += ErrorAt(numbers, most / -8);
    }
  }
  EXPECT_LT(got, 1.03 * best);
  EXPECT_LT(got, 0.93 * by_largest);
}

TEST(FourBits, WholeNumbersOfAScaleStayAsTheyAre) {
  Dice dice(5);
  for (const float scale : {0.125F, -0.0078125F, 3.0F}) {
    std::vector<float> rows(std::size_t{kPanelRows} * 50);
    for (float& number : rows)
      number = scale * static_cast<float>(dice.Between(-8, 7));
    // Each block has the end of the range, which shows its scale.
    for (std::size_t row = 0; row < kPanelRows; ++row)
      rows[row * 50] = rows[row * 50 + 40] = scale * -8;
    std::vector<std::byte> panel(PanelBytes(WeightFormat::kQ4, 50));
    PackPanel(WeightFormat::kQ4, 50, rows.data(), panel.data());
    for (std::size_t row = 0; row < kPanelRows; ++row) {
      std::vector<float> read(50);
      ReadPanelRow(WeightFormat::kQ4, 50, panel.data(), static_cast<int>(row),
                   read.data());
      EXPECT_EQ(read,
                std::vector<float>(&rows[row * 50], &rows[row * 50] + 50));
    }
  }
}

// A block of a row as products see it, read from the stored bytes:
// w = scale * q + least, or scale * (q - zero).
struct StoredBlock {
  float scale = 0;
  float least = 0;
  int zero = 0;
  int q[kQ8Block] = {};
};

StoredBlock BlockOf(const Stored& stored, int row, int block) {
  StoredBlock out;
  const auto* at = reinterpret_cast<const std::uint8_t*>(
      &stored.bytes[static_cast<std::size_t>(row) * stored.row_bytes]);
  const auto half = [](const std::uint8_t* from) {
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return FloatFromF16(bits);
  };
  if (stored.type == DType::kQ4K) {
    at += block / 8 * 144;
    const int j = block % 8;
    const std::uint8_t* six = at + 4;
    const int a =
        j < 4 ? six[j] & 63 : (six[j + 4] & 15) | (six[j - 4] >> 6) << 4;
    const int b =
        j < 4 ? six[j + 4] & 63 : (six[j + 4] >> 4) | (six[j] >> 6) << 4;
    out.scale = half(at) * static_cast<float>(a);
    out.least = -(half(at + 2) * static_cast<float>(b));
    for (int i = 0; i < kQ8Block; ++i)
      out.q[i] = at[16 + j / 2 * 32 + i] >> (j % 2 * 4) & 15;
    return out;
  }
  const bool line = stored.type == DType::kQ4_1;
  at += block * (line ? 20 : 18);
  out.scale = half(at);
  if (line) out.least = half(at + 2);
  out.zero = line ? 0 : 8;
  for (int i = 0; i < 16; ++i) {
    out.q[i] = at[(line ? 4 : 2) + i] & 15;
    out.q[i + 16] = at[(line ? 4 : 2) + i] >> 4;
  }
  return out;
}

// The product of a row of activations with a row of the weight, in the cpu's
// order (linear.cc).
float InOrder(const float* x, const Stored& stored, int row) {
  float sum = 0;
  for (int block = 0; block < stored.columns / kQ8Block; ++block) {
    const float* const here = x + block * kQ8Block;
    float largest = 0;
    for (int i = 0; i < kQ8Block; ++i)
      largest = std::max(largest, std::fabs(here[i]));
    const StoredBlock of = BlockOf(stored, row, block);
    int products = 0;
    int all = 0;
    for (int i = 0; i < kQ8Block; ++i) {
      const int quant =
          largest < kQ8Least
              ? 0
              : static_cast<int>(std::nearbyint(here[i] * (127.0F / largest)));
      products += quant * (of.q[i] - of.zero);
      all += quant;
    }
    const float scale = largest / 127.0F;
    sum = std::fma(static_cast<float>(products) * scale, of.scale, sum);
    if (of.zero == 0)
      sum = std::fma(static_cast<float>(all) * scale, of.least, sum);
  }
  return sum + 0.0F;
}

Numbers Multiplied(Backend& backend, const Numbers& x, const Weight& weight) {
  Desk desk(backend);
  const Tensor y = desk.Room(x.rows, weight.rows());
  const absl::Status status =
      backend.Linear({.x = desk.Put(x), .weight = &weight, .y = y});
  EXPECT_TRUE(status.ok()) << status;
  return desk.Take(y);
}

TEST(FourBits, ProductsAreInOneOrderOnEveryHost) {
  Dice dice(6);
  const Fleet fleet;
  int kinds = 0;
  for (const DType type : kTypes) {
    const struct {
      int batch, columns, rows;
    } kShapes[] = {{1, 256, 7},   {2, 512, 65},  {3, 256, 130},
                   {4, 768, 64},  {5, 512, 33},  {9, 256, 100},
                   {17, 512, 48}, {64, 256, 31}, {70, 1280, 50},
                   {1, 576, 20},  {6, 96, 40},   {33, 1504, 17}};
    for (const auto& [batch, columns, rows] : kShapes) {
      if (columns % DTypeBlock(type) != 0) continue;
      const Numbers x = HardNumbers(batch, columns, 6, dice);
      const Stored stored(type, rows, columns, dice);
      const std::unique_ptr<HostWeight> packed = stored.Packed();
      Numbers expected(batch, rows);
      std::vector<double> bound;
      for (int i = 0; i < batch; ++i)
        for (int j = 0; j < rows; ++j) {
          expected.at(i, j) = InOrder(x.row(i), stored, j);
          double magnitude = 1e-30;
          for (const float w : stored.Row(j)) magnitude += std::fabs(w);
          bound.push_back(magnitude * 64 * columns * 0x1p-24);
        }
      for (const std::shared_ptr<Backend>& host : fleet.hosts()) {
        if (host == fleet.reference) continue;
        EXPECT_TRUE(SameBits(Multiplied(*host, x, *packed), expected))
            << DTypeName(type) << ", " << batch << " rows, " << columns
            << " columns, " << host->description();
      }
      EXPECT_TRUE(
          Within(Multiplied(*fleet.reference, x, *packed), expected, bound))
          << DTypeName(type) << ", " << batch << " rows, the reference";
    }
    ++kinds;
  }
  EXPECT_EQ(kinds, 3);
  EXPECT_GE(fleet.hosts().size(), 5U);
}

// Columns that are no whole blocks, as only numbers have them.
TEST(FourBits, ProductsTakeAnyNumberOfColumns) {
  Dice dice(7);
  const Fleet fleet;
  for (const int columns : {1, 31, 33, 100, 257}) {
    const Numbers numbers = HardNumbers(20, columns, 6, dice);
    auto packed = HostWeight::Pack(
        WeightFormat::kQ4, 20, columns, [&](int first, int count, float* out) {
          const Numbers some = numbers.Rows(first, count);
          std::copy(some.data.begin(), some.data.end(), out);
          return absl::OkStatus();
        });
    ASSERT_TRUE(packed.ok()) << packed.status();
    const Numbers x = HardNumbers(5, columns, 6, dice);
    const Numbers expected = Multiplied(*fleet.reference, x, **packed);
    std::vector<double> bound;
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 20; ++j) {
        double magnitude = 1e-20;
        for (int k = 0; k < columns; ++k)
          magnitude += std::fabs(double{numbers.at(j, k)});
        bound.push_back(magnitude * 64 * (columns + 4) * 0x1p-24);
      }
    Numbers first;
    for (const std::shared_ptr<Backend>& host : fleet.hosts()) {
      if (host == fleet.reference) continue;
      const Numbers got = Multiplied(*host, x, **packed);
      EXPECT_TRUE(Within(got, expected, bound)) << columns << " columns";
      if (first.rows == 0) first = got;
      EXPECT_TRUE(SameBits(got, first)) << columns << " columns";
    }
  }
}

TEST(FourBits, ADeviceThatKeepsNoneSaysSo) {
  const auto gpu = OpenDevice("emulated_gpu");
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  const auto packed = (*gpu)->Pack(
      WeightFormat::kQ4, 1, 32,
      [](int, int, float*) -> absl::Status { return absl::OkStatus(); });
  EXPECT_EQ(packed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(packed.status().message().find("expected --weights q8"),
            std::string::npos)
      << packed.status();
}

}  // namespace
}  // namespace banyan
