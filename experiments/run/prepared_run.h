// An experiment's cells and prompts, ready to decode.
#ifndef BANYAN_EXPERIMENTS_RUN_PREPARED_RUN_H_
#define BANYAN_EXPERIMENTS_RUN_PREPARED_RUN_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"

namespace banyan {

struct PreparedRun {
  std::vector<PreparedCell> cells;
  std::vector<PreparedPrompt> prompts;
  int workload_prompts = 0;  // in the file: later turns are numbered from there

  int left_out = 0;  // later turns, where nothing says how to write chats
  std::vector<std::string> notes;  // what a reader should know

  // The prompts in the units that are decoded in one go, by their places: one
  // each, unless cells decode several at a time. Then every unit has as many as
  // possible up to twice the largest batch, so that half of them take the place
  // of another, and the units are as equal as can be.
  std::vector<std::vector<std::size_t>> Units() const;

  int turns() const;  // of all prompts
};

// Fails, each at its place, for targets that cannot be opened on `outline`, a
// shelf without weights, and for models of methods that are not there: what can
// be known before anything is measured.
absl::Status CheckModels(const Experiment& experiment, ModelShelf& outline);

// What could not be read (an empty workload, cells whose target has no
// directory) is passed over: why, the caller knows.
//
// Opens every model and builds every method, in memory that they share. Cells
// of one setting share a method that carries no state. What
// is wrong with any cell or prompt is told at once, one line each: what a
// method file can get wrong, prompts that do not fit a context with the tokens
// wanted, targets that cut the workload into different tokens.
// `progress`, if there is one, is called before each cell.
absl::StatusOr<PreparedRun> PrepareRun(
    const Experiment& experiment, const Workload& workload, ModelShelf& shelf,
    std::shared_ptr<const Clock> clock,
    const std::function<void(int done, int all)>& progress = nullptr);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PREPARED_RUN_H_
