// What drafting costs beside a plain pass, tried before a run.
#ifndef BANYAN_EXPERIMENTS_RUN_LEVEL_COSTS_H_
#define BANYAN_EXPERIMENTS_RUN_LEVEL_COSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "experiments/run/prepared_run.h"

namespace banyan {

// The largest target whose levels are tried: opening it takes no time, and its
// passes are short enough to be worth less than drafting. Targets of more bytes
// are bound by memory, where a smaller drafter costs less.
inline constexpr std::uint64_t kMostTriedBytes = std::uint64_t{64} << 20;

struct LevelCost {
  std::string cell;
  double plain_passes = 0;  // that a drafted level costs: from 1 on none pays
};

// Of all cells that draft, the first of each setting: decodes a few tokens of
// the first prompt, with the weights that `run` was
// prepared with. `progress` is called before each cell that is decoded. Fails
// as decoding does.
absl::StatusOr<std::vector<LevelCost>> TryLevels(
    PreparedRun& run, absl::FunctionRef<void(int done, int all)> progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_LEVEL_COSTS_H_
