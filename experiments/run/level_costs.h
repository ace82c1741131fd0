// Measures how long a drafted level takes, beside the target's pass, for tables
// of costs (machine_costs.h) and for what is tried before a run.
#ifndef BANYAN_EXPERIMENTS_RUN_LEVEL_COSTS_H_
#define BANYAN_EXPERIMENTS_RUN_LEVEL_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/run/prepared_run.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {

// Decodes the first `count` prompts, or a batch if that is more, for a few
// tokens, and returns the records of the second time: the first one warms up.
// Fails as decoding does.
absl::StatusOr<std::vector<records::PromptRecord>> DecodeWarm(
    PreparedCell& cell, const std::vector<PreparedPrompt>& prompts,
    std::size_t count);

// The median over rounds of the milliseconds of a level, as CostOfLevel
// divides them; 0 if nothing was drafted. `passes` has the target's passes in
// milliseconds, which are taken off the rounds that a device ran alone.
double LevelMs(const std::vector<records::PromptRecord>& records,
               const CostCurve& passes);

// The largest target whose levels are tried: opening it takes no time, and its
// passes are short enough to be worth less than drafting. Targets of more bytes
// are bound by memory, where a smaller drafter costs less.
inline constexpr std::uint64_t kMostTriedBytes = std::uint64_t{64} << 20;

struct LevelCost {
  std::string cell;
  double plain_passes = 0;  // that a drafted level costs: from 1 on none pays
};

// Tries all cells that draft, the first of each setting, on the first prompt (a
// batch of them where a cell decodes several), with the weights that `run` was
// prepared with. `progress` is called before each cell that is decoded. Fails
// as decoding does.
absl::StatusOr<std::vector<LevelCost>> TryLevels(
    PreparedRun& run, absl::FunctionRef<void(int done, int all)> progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_LEVEL_COSTS_H_
