#include "tests/gpu/layer_traffic.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/device/cuda/host_device.h"
#include "core/model/model.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "tests/gpu/random_family.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

LaunchTraffic TrafficOfPass(const TrafficCase& of, int layers) {
  const auto folder = MakeRandomModel(of.family, layers);
  const auto device =
      std::make_shared<HostDevice>(HostDeviceOptions{.count_sectors = true});
  auto backend =
      CudaBackend::Create(device, on_host::kOpKernels, "emulated_gpu");
  Check(backend.ok(), backend.status().message());
  const auto model = LoadModel(folder->path(), *std::move(backend), of.format);
  const auto now = [&] {
    Check(model->Finish().ok(), "the pass is done");
    LaunchTraffic all;
    for (const auto& [kernel, traffic] : device->traffic()) all.Add(traffic);
    return all;
  };
  TokenBatch batch;  // a tree of two branches
  for (int row = 0; row < of.rows; ++row)
    batch.Add(row % 7, (row + 1) / 2, row < 2 ? row - 1 : row - 2);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<ScoreRequest> requests;
  for (int i = 0; i < of.sequences; ++i) {
    sessions.push_back(model->NewSession());
    requests.push_back({.session = sessions.back().get(), .batch = &batch});
  }
  const LaunchTraffic before = now();
  Check(model->Score(requests).ok(), "the batch is scored");
  LaunchTraffic pass = now();
  pass.Take(before);
  return pass;
}

}  // namespace

std::string TrafficCase::ToText() const {
  return absl::StrCat(family, " ", Name(format), ", ", sequences, " x ", rows,
                      rows == 1 ? " row" : " rows");
}

std::vector<TrafficCase> TrafficCases() {
  std::vector<TrafficCase> cases;
  for (const std::string& family : RandomFamilies())
    for (WeightFormat format : {WeightFormat::kBf16, WeightFormat::kQ8}) {
      for (int rows : {1, 9, 64}) cases.push_back({family, format, rows, 1});
      cases.push_back({family, format, 2, 4});
    }
  return cases;
}

LaunchTraffic TrafficOfLayer(const TrafficCase& traffic) {
  const LaunchTraffic less = TrafficOfPass(traffic, 2);
  LaunchTraffic layer = TrafficOfPass(traffic, 3);
  layer.Take(less);
  return layer;
}

std::string TrafficLine(const TrafficCase& traffic) {
  const LaunchTraffic layer = TrafficOfLayer(traffic);
  return absl::StrFormat("%-6s %-4s %9d %4d %8d %9d %9d %8d %5d %10d %5d",
                         traffic.family, Name(traffic.format),
                         traffic.sequences, traffic.rows, layer.launches,
                         layer.loaded, layer.stored, layer.sectors, layer.trips,
                         layer.ahead, layer.waits);
}

std::string WriteTraffic() {
  std::string text =
      "# Passes of small random models, as the emulated GPU counts them. What "
      "one layer adds:\n"
      "# launches, loaded and stored (bytes of the device's memory), sectors "
      "(pieces of 32\n"
      "# bytes that warps' loads and stores touch), trips (loads that wait for "
      "earlier ones, at\n"
      "# the least, of a thread). The largest of any kernel: ahead (bytes that "
      "a block has on\n"
      "# their way at once) and waits (for some of these).\n"
      "# Made by\n"
      "# build/release/tests/gpu/gpu_bits --traffic\n"
      "# family format sequences rows launches loaded stored sectors trips "
      "ahead waits\n";
  for (const TrafficCase& traffic : TrafficCases())
    absl::StrAppend(&text, TrafficLine(traffic), "\n");
  return text;
}

}  // namespace banyan
