// What the CUDA runtime's device needs, asked of machines made up.
#include "core/device/cuda/nvidia_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void ExpectRefused(const absl::Status& status,
                   const testing::Matcher<const std::string&>& words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), words);
}

TEST(NvidiaNeeds, WriteVersionsAsPeopleDo) {
  EXPECT_EQ(CudaVersionText(12040), "12.4");
  EXPECT_EQ(CudaVersionText(13000), "13.0");
}

TEST(NvidiaNeeds, ADriverRunsWhatItsMajorVersionOrAnEarlierOneHasBuilt) {
  for (int driver : {13000, 13020, 14010})
    EXPECT_TRUE(CheckCudaDriver({driver, 13010}).ok()) << driver;
  ExpectRefused(CheckCudaDriver({0, 13010}),
                AllOf(HasSubstr("no driver"), HasSubstr("CUDA 13 or later")));
  ExpectRefused(
      CheckCudaDriver({12090, 13010}),
      AllOf(HasSubstr("12.9"), HasSubstr("13.1"), HasSubstr("13.0 or later")));
}

TEST(NvidiaNeeds, AGpuIsShown) {
  EXPECT_TRUE(CheckGpuCount(1, nullptr, "").ok());
  EXPECT_TRUE(CheckGpuCount(8, "2", "").ok());
  ExpectRefused(CheckGpuCount(0, nullptr, "system not yet initialized"),
                HasSubstr("shows no GPU (system not yet initialized)"));
  ExpectRefused(CheckGpuCount(0, "7", ""),
                HasSubstr("CUDA_VISIBLE_DEVICES leaves those it names, '7'"));
}

TEST(NvidiaNeeds, SomeCodeRunsOnTheGpu) {
  const CudaVersions as_new = {13010, 13010};
  const CudaVersions older = {13000, 13010};
  // As it is.
  for (const auto& [major, minor] : {std::pair(8, 0), {8, 6}, {8, 9}, {9, 0}}) {
    EXPECT_TRUE(CheckGpuArchitecture("a GPU", major, minor, as_new).ok());
    EXPECT_TRUE(CheckGpuArchitecture("a GPU", major, minor, older).ok());
  }
  // Translated by the driver.
  for (const auto& [major, minor] : {std::pair(10, 0), {10, 3}, {12, 0}}) {
    EXPECT_TRUE(CheckGpuArchitecture("a GPU", major, minor, as_new).ok());
    ExpectRefused(
        CheckGpuArchitecture("NVIDIA B200", major, minor, older),
        AllOf(HasSubstr("NVIDIA B200"),
              HasSubstr(std::to_string(major) + "." + std::to_string(minor)),
              HasSubstr("CUDA 13.1"), HasSubstr("13.0 at most"),
              HasSubstr("8.x and 9.0")));
  }
  ExpectRefused(
      CheckGpuArchitecture("Tesla T4", 7, 5, as_new),
      AllOf(HasSubstr("Tesla T4"), HasSubstr("7.5"), HasSubstr("8.0")));
}

}  // namespace
}  // namespace banyan
