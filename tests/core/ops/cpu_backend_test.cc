#include "core/ops/cpu_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "tests/core/ops/twins.h"

namespace banyan {
namespace {

TEST(CpuBackend, TakesTheBestInstructionSetUnlessAskedForAnother) {
  const std::vector<std::string> sets = CpuBackend::InstructionSets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(std::set<std::string>(sets.begin(), sets.end()).size(),
            sets.size());
  const auto best = CpuBackend::Create();
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ((*best)->instruction_set(), sets.front());
  EXPECT_GE((*best)->threads(), 1);
  for (const std::string& set : sets) {
    const auto asked =
        CpuBackend::Create({.threads = 2, .instruction_set = set});
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_EQ((*asked)->instruction_set(), set);
    EXPECT_EQ((*asked)->threads(), 2);
    EXPECT_THAT((*asked)->description(),
                testing::AllOf(testing::HasSubstr(set),
                               testing::HasSubstr("2 threads")));
  }
}

TEST(CpuBackend, RefusesWhatItCannotBe) {
  const auto negative = CpuBackend::Create({.threads = -1});
  EXPECT_EQ(negative.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(negative.status().message(), testing::HasSubstr("-1"));
  const auto many = CpuBackend::Create({.threads = 257});
  EXPECT_FALSE(many.ok());
  EXPECT_THAT(many.status().message(), testing::HasSubstr("257"));
  const auto unknown = CpuBackend::Create({.instruction_set = "MMX"});
  EXPECT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(),
              testing::AllOf(
                  testing::HasSubstr("MMX"),
                  testing::HasSubstr(CpuBackend::InstructionSets().front())));
}

std::vector<Backend*> All(Fleet& fleet) {
  std::vector<Backend*> all = {&fleet.reference};
  for (auto& cpu : fleet.cpus) all.push_back(cpu.get());
  return all;
}

TEST(Backends, GiveZeroedMemory) {
  Fleet fleet;
  for (Backend* backend : All(fleet))
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
  for (Backend* backend : All(fleet)) {
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
  for (Backend* backend : All(fleet))
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
