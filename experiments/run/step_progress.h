// How far a command has come with steps that may take long.
#ifndef BANYAN_EXPERIMENTS_RUN_STEP_PROGRESS_H_
#define BANYAN_EXPERIMENTS_RUN_STEP_PROGRESS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "core/base/clock.h"

namespace banyan {

// Nothing for the first two seconds. After them a line that is drawn over, and
// wiped out at the end, on a terminal; elsewhere a line each tenth.
class StepProgress {
 public:
  struct Options {
    std::string doing;  // "preparing cells"
    const Clock& clock;
    std::ostream& out;
    bool terminal = false;
  };
  explicit StepProgress(Options options);
  // On standard error.
  StepProgress(std::string doing, const Clock& clock);
  StepProgress(const StepProgress&) = delete;
  StepProgress& operator=(const StepProgress&) = delete;
  ~StepProgress();

  // Before each step: `done` of `all` steps are done.
  void Show(int done, int all);

 private:
  Options options_;
  std::int64_t start_ns_;
  int tenths_ = -1;  // shown
  bool wipe_ = false;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_STEP_PROGRESS_H_
