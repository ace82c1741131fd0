// Sequoia's programme. Its sizes are the contract of issue 2: under 20 ms, 1 s
// and 200 ms.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "tests/benchmarks/benchmarks.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

// Falls like a power of the rank, as measured acceptances do; sums below 1.
std::vector<double> Acceptance(int ranks) {
  std::vector<double> acceptance;
  for (int rank = 1; rank <= ranks; ++rank)
    acceptance.push_back(0.6 * std::pow(rank, -2));
  return acceptance;
}

void TimeBestTree(benchmark::State& state, const SequoiaOptions& options) {
  for (auto _ : state) {
    const absl::StatusOr<RatedShape> best = BestTree(options);
    Check(best.ok(), "the options are possible");
    benchmark::DoNotOptimize(best->expected_tokens);
  }
}

void Register(const char* name, const SequoiaOptions& options) {
  benchmark::RegisterBenchmark(name, [options](benchmark::State& state) {
    TimeBestTree(state, options);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

void RegisterOptimize() {
  const auto bounded = [](int budget) {
    return SequoiaOptions{.acceptance = Acceptance(16),
                          .nodes = budget,
                          .levels = 16,
                          .width = 16};
  };
  Register("Sequoia/depth_16/ranks_16/128", bounded(128));
  Register("Sequoia/depth_16/ranks_16/1024", bounded(1024));
  Register("Sequoia/any_depth/ranks_32/1024",
           {.acceptance = Acceptance(32), .nodes = 1024});
}

}  // namespace banyan
