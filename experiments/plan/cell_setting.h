// The setting of a cell: what cells share that differ in their seeds alone, or
// whose axis labels change only other methods.
#ifndef BANYAN_EXPERIMENTS_PLAN_CELL_SETTING_H_
#define BANYAN_EXPERIMENTS_PLAN_CELL_SETTING_H_

#include <string>

#include "experiments/plan/experiment.h"

namespace banyan {

// All that a cell decodes by except its seed, as a text. Two cells of one
// setting have the same method from the same places of the same files, so what
// is wrong with one is wrong with the other in the same words.
std::string SettingOf(const ExperimentCell& cell);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_CELL_SETTING_H_
