// How many kernels a layer launches.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/device/cuda/host_device.h"
#include "core/model/model.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "tests/gpu/random_family.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

// Of a pass of a model of this family, with this many rows of each sequence.
int Launches(const std::string& family, WeightFormat format, int layers,
             int rows, int sequences = 1) {
  const auto folder = MakeRandomModel(family, layers);
  const auto device = std::make_shared<HostDevice>(HostDeviceOptions());
  auto backend =
      CudaBackend::Create(device, on_host::kOpKernels, "emulated_gpu");
  Check(backend.ok(), backend.status().message());
  const auto model = LoadModel(folder->path(), *std::move(backend), format);
  std::vector<std::unique_ptr<Session>> sessions;
  TokenBatch batch;
  for (int row = 0; row < rows; ++row) batch.Add(row % 7, row, row - 1);
  const auto count = [&] {
    Check(model->Finish().ok(), "the pass is done");
    int launches = 0;
    for (const auto& [kernel, traffic] : device->traffic())
      launches += traffic.launches;
    return launches;
  };
  std::vector<ScoreRequest> requests;
  for (int i = 0; i < sequences; ++i) {
    sessions.push_back(model->NewSession());
    requests.push_back({.session = sessions.back().get(), .batch = &batch});
  }
  const int before = count();
  Check(model->Score(requests).ok(), "the batch is scored");
  return count() - before;
}

struct LayerCase {
  const char* family;
  WeightFormat format;
  int launches;
};

class LayerLaunches : public testing::TestWithParam<LayerCase> {};

TEST_P(LayerLaunches, AreFew) {
  const LayerCase& of = GetParam();
  for (int rows : {1, 9, 64}) {
    if (LeftOutOnHost(absl::StrCat(of.family, ", ", rows, " rows"), rows == 1))
      continue;
    EXPECT_EQ(Launches(of.family, of.format, 3, rows) -
                  Launches(of.family, of.format, 2, rows),
              of.launches)
        << rows << " rows";
  }
}

// Four sequences take the launches of one.
TEST(LayerLaunchesOfABatch, AreNotMore) {
  for (const char* family : {"mistral", "qwen2", "qwen3"})
    EXPECT_EQ(Launches(family, WeightFormat::kBf16, 3, 2, 4) -
                  Launches(family, WeightFormat::kBf16, 2, 2, 4),
              std::string(family) == "qwen3" ? 7 : 6)
        << family;
}

// With q8 weights another launch packs what a product reads; heads' norms take
// one more (qwen3), layer norms two (gpt2).
INSTANTIATE_TEST_SUITE_P(
    All, LayerLaunches,
    testing::Values(LayerCase{"mistral", WeightFormat::kBf16, 6},
                    LayerCase{"qwen2", WeightFormat::kBf16, 6},
                    LayerCase{"qwen3", WeightFormat::kBf16, 7},
                    LayerCase{"gpt2", WeightFormat::kBf16, 8},
                    LayerCase{"mistral", WeightFormat::kQ8, 9},
                    LayerCase{"qwen3", WeightFormat::kQ8, 10},
                    LayerCase{"gpt2", WeightFormat::kQ8, 9}),
    [](const auto& row) {
      return std::string(row.param.family) + "_" +
             std::string(Name(row.param.format));
    });

}  // namespace
}  // namespace banyan
