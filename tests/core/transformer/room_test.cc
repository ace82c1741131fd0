// What a model takes of a device is asked before it is loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/devices.h"
#include "core/transformer/model_split.h"
#include "core/transformer/transformer.h"
#include "core/transformer/weights.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<Backend> On(const std::shared_ptr<HostDevice>& device) {
  return *CudaBackend::Create(device, on_host::kOpKernels, "emulated_gpu");
}

// Every golden model in every format.
void ForEachModel(
    absl::FunctionRef<void(const Checkpoint&, WeightFormat)> visit) {
  for (const std::string& name : GoldenNames())
    for (const WeightFormat format :
         {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
      const auto checkpoint = Checkpoint::Open(GoldenFolder(name));
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
      visit(**checkpoint, format);
    }
}

TEST(Room, IsKnownFromTheArchitecture) {
  ForEachModel([](const Checkpoint& checkpoint, WeightFormat format) {
    const auto weights = LoadTransformerWeights(
        checkpoint, format,
        *OutlineOf(On(std::make_shared<HostDevice>(HostDeviceOptions{}))),
        ModelSplit(checkpoint.architecture(), nullptr));
    ASSERT_TRUE(weights.ok()) << weights.status();
    std::size_t bytes = weights->total_bytes();
    double sources = 0;  // each may be rounded
    ForEachSource(checkpoint.architecture(), [&](const WeightSource& source) {
      if (source.columns == 1)
        bytes += static_cast<std::size_t>(source.rows) * sizeof(float);
      ++sources;
    });
    EXPECT_NEAR(
        static_cast<double>(WeightBytes(checkpoint.architecture(), format)),
        static_cast<double>(bytes), sources)
        << checkpoint.directory() << ", " << Name(format);
  });
}

TEST(Room, IsAskedBeforeWeightsAreLoaded) {
  int refused = 0;
  ForEachModel([&](const Checkpoint& checkpoint, WeightFormat format) {
    const auto device = std::make_shared<HostDevice>(HostDeviceOptions{
        .memory_bytes = WeightBytes(checkpoint.architecture(), format) - 1});
    for (const std::shared_ptr<Backend>& backend :
         {On(device), OutlineOf(On(device))}) {
      const absl::Status none =
          Transformer::Load(checkpoint, {.format = format}, backend).status();
      EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(std::string(none.message()),
                  AllOf(HasSubstr(absl::StrCat(checkpoint.directory(),
                                               ": weights as ", Name(format))),
                        HasSubstr(" MB on emulated_gpu, which has "),
                        HasSubstr(" MB free of ")));
      ++refused;
    }
    EXPECT_EQ(device->peak_bytes(), 0U);
  });
  EXPECT_EQ(refused, 6 * static_cast<int>(GoldenNames().size()));
}

}  // namespace
}  // namespace banyan
