// Adds a second run of plain decoding: an A/A pair, whose difference is noise.
#ifndef BANYAN_EXPERIMENTS_RUN_REPEATS_H_
#define BANYAN_EXPERIMENTS_RUN_REPEATS_H_

#include <cstddef>

#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"

namespace banyan {

// Adds after the other cells, for every baseline, a cell that repeats it
// (records/cell_names.h).
void RepeatPlain(PreparedRun& run);

// Where a plain pass is dear (weights on disk, several prompts at a time) the
// repeat has every third unit.
inline constexpr std::size_t kThinned = 3;
bool IsThinned(const PreparedCell& cell);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_REPEATS_H_
