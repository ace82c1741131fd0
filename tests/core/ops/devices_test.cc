// The table of devices, and what every backend in it owes.
#include "core/ops/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Whether it may be missing on this machine, and is.
bool IsMissing(const DeviceRow& row, const absl::Status& status) {
  return row.name == "cuda" && absl::IsFailedPrecondition(status);
}

TEST(Devices, OpenByTheirNames) {
  std::set<std::string> names;
  for (const DeviceRow& row : DeviceTable()) {
    const auto backend = OpenDevice(row.name);
    if (IsMissing(row, backend.status())) {
      names.insert(std::string(row.name));
      continue;
    }
    ASSERT_TRUE(backend.ok()) << backend.status();
    const BackendFacts facts = (*backend)->facts();
    EXPECT_EQ(facts.device, row.name);
    EXPECT_THAT((*backend)->description(), HasSubstr(std::string(row.name)));
    EXPECT_GE(facts.threads, 1);
    const std::vector<std::string> sets = row.instruction_sets();
    EXPECT_EQ(facts.instruction_set, sets.empty() ? "" : sets.front());
    EXPECT_FALSE(row.sentence.empty());
    EXPECT_TRUE((*backend)->Finish().ok());
    names.insert(facts.device);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("cpu", "cuda", "emulated_gpu", "reference"));
  EXPECT_EQ(DeviceTable().front().name, kDefaultDevice);
  // The old word of files and scripts.
  EXPECT_EQ((*OpenDevice("host"))->facts().device, "emulated_gpu");
}

// Where this test is skipped, no kernel ran on a GPU: the comparisons with the
// reference cover the host device alone.
TEST(Devices, HaveAGpuAmongThem) {
  const auto gpu = OpenDevice("cuda");
  if (absl::IsFailedPrecondition(gpu.status())) {
    EXPECT_THAT(std::string(gpu.status().message()), StartsWith("cuda: "));
    GTEST_SKIP() << "without a GPU: " << gpu.status().message();
  }
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_TRUE((*gpu)->Finish().ok());
}

TEST(Devices, ThatNobodyKnowsAreRefusedWithTheNearestName) {
  const auto unknown = OpenDevice("cup");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown.status().message(),
              AllOf(HasSubstr("device 'cup'"), HasSubstr("'cpu'")));
}

TEST(Devices, RefuseOptionsThatTheyDoNotTake) {
  int refused = 0;
  for (const DeviceRow& row : DeviceTable()) {
    const auto threads = OpenDevice(row.name, {.threads = 1});
    EXPECT_EQ(threads.ok(), row.takes_threads) << threads.status();
    if (!threads.ok()) {
      ++refused;
      EXPECT_THAT(threads.status().message(),
                  AllOf(HasSubstr(std::string(row.name)), HasSubstr("1")));
    }
    const auto set = OpenDevice(row.name, {.instruction_set = "MMX"});
    EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(set.status().message(), HasSubstr("MMX"));
  }
  EXPECT_EQ(refused, 3);
}

// Every reading of it is five milliseconds later than the one before.
class StepClock : public Clock {
 public:
  std::int64_t NowNs() const override { return now_ += 5'000'000; }

 private:
  mutable std::int64_t now_ = 0;
};

TEST(Gauge, MeasuresOrSaysThatItCannot) {
  int without = 0;
  for (const DeviceRow& row : DeviceTable()) {
    const auto backend = OpenDevice(row.name);
    if (IsMissing(row, backend.status())) continue;
    ASSERT_TRUE(backend.ok()) << backend.status();
    const StepClock clock;
    const auto gauge = (*backend)->NewGauge(1, clock);
    if (absl::IsUnimplemented(gauge.status())) {
      ++without;
      EXPECT_THAT(gauge.status().message(), HasSubstr(std::string(row.name)));
      continue;
    }
    ASSERT_TRUE(gauge.ok()) << gauge.status();
    const auto bandwidth = (*gauge)->ReadBandwidth();
    ASSERT_TRUE(bandwidth.ok()) << bandwidth.status();
    EXPECT_GT(*bandwidth, 0);
    for (WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
      const auto peak = (*gauge)->Peak(format);
      ASSERT_TRUE(peak.ok()) << peak.status();
      EXPECT_GT(*peak, 0);
    }
  }
  EXPECT_EQ(without, 2);
}

TEST(Backends, GiveZeroedMemory) {
  Fleet fleet;
  for (const auto& backend : fleet.all())
    for (std::size_t bytes : {std::size_t{1}, std::size_t{63},
                              std::size_t{4097}, std::size_t{5} << 20}) {
      // The first was written to, so that its memory may come back dirty.
      for (int i = 0; i < 2; ++i) {
        const auto buffer = backend->Allocate(bytes);
        ASSERT_TRUE(buffer.ok()) << buffer.status();
        ASSERT_GE((*buffer)->bytes(), bytes);
        std::vector<std::byte> read(bytes, std::byte{1});
        ASSERT_TRUE(backend->Download(**buffer, 0, {read.data(), bytes}).ok());
        EXPECT_TRUE(std::all_of(read.begin(), read.end(), [](std::byte b) {
          return b == std::byte{0};
        })) << backend->description();
        std::fill(read.begin(), read.end(), std::byte{255});
        ASSERT_TRUE(backend->Upload({read.data(), bytes}, **buffer, 0).ok());
      }
    }
}

TEST(Backends, DownloadWhatWasUploaded) {
  Fleet fleet;
  for (const auto& backend : fleet.all()) {
    const auto buffer = backend->Allocate(10);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    const std::vector<std::byte> sent = {std::byte{1}, std::byte{2},
                                         std::byte{3}};
    ASSERT_TRUE(backend->Upload({sent.data(), 3}, **buffer, 4).ok());
    std::vector<std::byte> read(10);
    ASSERT_TRUE(backend->Download(**buffer, 0, {read.data(), 10}).ok());
    std::vector<std::byte> expected(10);
    std::copy(sent.begin(), sent.end(), expected.begin() + 4);
    EXPECT_EQ(read, expected);
    std::vector<std::byte> part(2);
    ASSERT_TRUE(backend->Download(**buffer, 5, {part.data(), 2}).ok());
    EXPECT_THAT(part, testing::ElementsAre(std::byte{2}, std::byte{3}));
  }
}

TEST(Backends, PassOnTheErrorOfAWeightsSource) {
  Fleet fleet;
  for (const auto& backend : fleet.all())
    for (WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
      EXPECT_EQ(backend
                    ->Pack(format, 5, 5,
                           [](int /*first*/, int /*count*/, float* /*out*/) {
                             return absl::DataLossError("the disk");
                           })
                    .status(),
                absl::DataLossError("the disk"));
}

}  // namespace
}  // namespace banyan
