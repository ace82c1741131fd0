// A cell as its records describe it.
#ifndef BANYAN_EXPERIMENTS_RUN_CELL_DESCRIPTION_H_
#define BANYAN_EXPERIMENTS_RUN_CELL_DESCRIPTION_H_

#include "drafters/assets.h"
#include "experiments/plan/experiment.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"

namespace banyan {

// What `cell` asked for and `prepared` became, but for `prepared.description`.
// `assets` is what the cell was opened with, and since its last TakePaths()
// nothing else was: it has the paths of all that was read.
records::Cell DescribeCell(const ExperimentCell& cell,
                           const PreparedCell& prepared, Assets& assets);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_CELL_DESCRIPTION_H_
