// What the kernels of one layer launch, load and store, as the host device
// counts them, kept in tests/goldens/gpu_traffic.txt.
#ifndef BANYAN_TESTS_GPU_LAYER_TRAFFIC_H_
#define BANYAN_TESTS_GPU_LAYER_TRAFFIC_H_

#include <string>
#include <vector>

#include "core/base/weight_format.h"
#include "core/device/cuda/host_block.h"

namespace banyan {

inline constexpr char kTrafficFile[] = "tests/goldens/gpu_traffic.txt";

// A pass of a random model of a family (random_family.h).
struct TrafficCase {
  std::string family;
  WeightFormat format;
  int rows;       // of each sequence
  int sequences;  // in one pass

  std::string ToText() const;  // "qwen2 bf16, 4 x 2 rows"
};
// Every case of the file, in its order.
std::vector<TrafficCase> TrafficCases();

// Returns what a layer adds to a pass of the case. `ahead` and `waits` are
// those of the kernel that has the most.
LaunchTraffic TrafficOfLayer(const TrafficCase& traffic);

// Returns the file's line of a case.
std::string TrafficLine(const TrafficCase& traffic);
// Returns the whole file.
std::string WriteTraffic();

}  // namespace banyan

#endif  // BANYAN_TESTS_GPU_LAYER_TRAFFIC_H_
