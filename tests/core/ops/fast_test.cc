// What a device's library multiplies, and the gauge's kernels: over the host
// device, which makes both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/cuda_gauge.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/devices.h"
#include "core/ops/reference/reference_backend.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

using testing::HasSubstr;

std::shared_ptr<Backend> OnHost(bool fast) {
  auto backend =
      CudaBackend::Create(std::make_shared<HostDevice>(HostDeviceOptions{}),
                          on_host::kOpKernels, "emulated_gpu", fast);
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

struct Case {
  WeightFormat format;
  int batch;
  int columns;
  int rows;
  bool bias;
  bool add;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
    for (int batch : {1, 3, 17})
      for (int columns : {1, 15, 64, 257})
        for (int rows : {1, 16, 49})
          cases.push_back(
              {format, batch, columns, rows, batch % 2 == 1, columns % 2 == 1});
  return cases;
}

TEST(Fast, ProductsAreTheReferencesWithinRoundings) {
  Dice dice(1);
  const auto reference = std::make_shared<ReferenceBackend>();
  const auto plain = OnHost(false);
  const auto fast = OnHost(true);
  for (const Case& of : Cases()) {
    const std::string name =
        absl::StrCat(Name(of.format), ", batch ", of.batch, ", ", of.columns,
                     " columns to ", of.rows);
    const Numbers x = HardNumbers(of.batch, of.columns, 8, dice);
    Everywhere weight(of.format, HardNumbers(of.rows, of.columns, 8, dice));
    const Numbers before = HardNumbers(of.batch, of.rows, 8, dice);
    const Numbers bias = HardNumbers(1, of.rows, 8, dice);
    const Place place = RandomPlace(dice);
    const auto run = [&](Backend& backend) {
      Desk desk(backend);
      const Tensor y = desk.Put(before, place);
      const absl::Status status =
          backend.Linear({.x = desk.Put(x, place),
                          .weight = weight.On(backend),
                          .bias = of.bias ? desk.Put(bias) : Tensor{},
                          .y = y,
                          .add = of.add});
      EXPECT_TRUE(status.ok()) << status;
      return desk.Take(y);
    };
    if (of.format == WeightFormat::kQ8) {
      EXPECT_TRUE(SameBits(run(*fast), run(*plain))) << name;
      continue;
    }
    // Both factors are rounded to bfloat16, and a float is added up of at most
    // columns + 2 numbers, each step off by its unit of what was added so far.
    std::vector<double> bound;
    for (int i = 0; i < of.batch; ++i)
      for (int j = 0; j < of.rows; ++j) {
        double size = std::fabs(double{bias.at(0, j)}) +
                      std::fabs(double{before.at(i, j)});
        for (int k = 0; k < of.columns; ++k)
          size +=
              std::fabs(double{x.at(i, k)} * double{weight.numbers().at(j, k)});
        bound.push_back(
            size * (2.02 * kBf16Unit + 1.01 * kUnit * (of.columns + 4)) +
            0x1p12 * kBf16Tiny * of.columns);
      }
    EXPECT_TRUE(Within(run(*fast), run(*reference), bound)) << name;
  }
}

TEST(Fast, RowsOfAWeightAreEmbeddedAsBfloat16s) {
  Dice dice(2);
  const auto fast = OnHost(true);
  const auto plain = OnHost(false);
  const Numbers table = HardNumbers(9, 37, 8, dice);
  const auto embed = [&](Backend& backend, WeightFormat format) {
    Everywhere weight(format, table);
    Desk desk(backend);
    const Tensor y = desk.Room(4, table.columns);
    const absl::Status status = backend.Embed(
        {.ids = desk.List({8, 0, 3, 3}), .table = weight.On(backend), .y = y});
    EXPECT_TRUE(status.ok()) << status;
    return desk.Take(y);
  };
  const Numbers rounded = embed(*plain, WeightFormat::kBf16);
  for (const WeightFormat format : {WeightFormat::kF32, WeightFormat::kBf16})
    EXPECT_TRUE(SameBits(embed(*fast, format), rounded)) << Name(format);
}

TEST(Fast, IsToldWhereItIsAndRefusedWhereItCannotBe) {
  EXPECT_TRUE(OnHost(false)->facts().faithful);
  const auto fast = OnHost(true);
  EXPECT_FALSE(fast->facts().faithful);
  EXPECT_THAT(fast->description(), HasSubstr("fast"));
  int refused = 0;
  for (const DeviceRow& row : DeviceTable()) {
    if (row.takes_fast) continue;
    const auto backend = OpenDevice(row.name, {.fast = true});
    EXPECT_EQ(backend.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(backend.status().message()),
                HasSubstr(absl::StrCat("fast: the device ", row.name)));
    ++refused;
  }
  EXPECT_EQ(refused, 3);
}

// A millisecond between two looks at it.
class StepClock : public Clock {
 public:
  std::int64_t NowNs() const override {
    ++looks_;
    return now_ += 1'000'000 * looks_;
  }
  mutable std::int64_t looks_ = 0;

 private:
  mutable std::int64_t now_ = 0;
};

// What a launch is said to do is what it does.
TEST(CudaGauge, ReadsWhatItCounts) {
  const auto device = std::make_shared<HostDevice>(HostDeviceOptions{});
  const StepClock clock;
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{100'016}}) {
    const std::uint64_t before =
        HostDevice::Of(*device).traffic().count("read_all") == 0
            ? 0
            : device->traffic().at("read_all").loaded;
    const auto gauge = NewCudaGauge(device, on_host::kOpKernels,
                                    {.bytes = bytes, .blocks = 2}, clock);
    ASSERT_TRUE(gauge.ok()) << gauge.status();
    const auto bandwidth = (*gauge)->ReadBandwidth();
    ASSERT_TRUE(bandwidth.ok()) << bandwidth.status();
    EXPECT_GT(*bandwidth, 0);
    const std::uint64_t read = device->traffic().at("read_all").loaded - before;
    EXPECT_GT(read, 0U);
    EXPECT_EQ(read % bytes, 0U) << read;
  }
}

TEST(CudaGauge, MeasuresEveryFormatAndGivesItsMemoryBack) {
  const auto device = std::make_shared<HostDevice>(HostDeviceOptions{});
  {
    const StepClock clock;
    const auto gauge =
        NewCudaGauge(device, on_host::kOpKernels, {.rounds = 2}, clock);
    ASSERT_TRUE(gauge.ok()) << gauge.status();
    for (const WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
      const auto peak = (*gauge)->Peak(format);
      ASSERT_TRUE(peak.ok()) << peak.status();
      EXPECT_GT(*peak, 0) << Name(format);
    }
    // Eight warps, two rounds of four products of 16 by 16 by 8.
    EXPECT_EQ(on_host::kOpKernels.multiply_all_operations(
                  {.format = WeightFormat::kBf16, .blocks = 1, .rounds = 2}),
              8 * 2 * 4 * 2.0 * 16 * 16 * 8);
    EXPECT_GT(device->used_bytes(), 0U);
  }
  EXPECT_TRUE(device->Finish().ok());
  EXPECT_EQ(device->used_bytes(), 0U);
}

}  // namespace
}  // namespace banyan
