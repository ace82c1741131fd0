// A cell as its records describe it.
#ifndef BANYAN_EXPERIMENTS_RUN_CELL_DESCRIPTION_H_
#define BANYAN_EXPERIMENTS_RUN_CELL_DESCRIPTION_H_

#include "drafters/assets.h"
#include "experiments/plan/experiment.h"
#include "experiments/run/prepared_cells.h"

namespace banyan {

// Sets `prepared.description`, of what `cell` asked for and `prepared` became,
// and `prepared.files`. `assets` is what the cell was opened with, and since
// its last TakePaths() nothing else was: it has the paths of all that was read.
void DescribeCell(const ExperimentCell& cell, Assets& assets,
                  PreparedCell& prepared);

// Replaces in `out` all that differs between cells of one setting: names, seed,
// baseline and opponents.
void DescribePlace(const ExperimentCell& cell, records::Cell& out);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_CELL_DESCRIPTION_H_
