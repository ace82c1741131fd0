// What a run shows while it runs, and the signal that ends it.
#ifndef BANYAN_EXPERIMENTS_RUN_PROGRESS_H_
#define BANYAN_EXPERIMENTS_RUN_PROGRESS_H_

#include <csignal>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "experiments/records/record.pb.h"

namespace banyan {

// What a run shows while it runs: a bar with the time left, and a table of the
// methods so far.
class RunProgress {
 public:
  struct Options {
    std::ostream& out;
    const Clock& clock;
    // Redraws in place; else a line each tenth of the run.
    bool terminal = false;
  };

  // `context` describes the cells and outlives this.
  RunProgress(const records::Context& context, const Options& options);

  // A record; `fresh` unless it was read from a file that is gone on with.
  void Add(const records::PromptRecord& record, bool fresh);
  // After Add: how far the run is.
  void Show(int done, int all);
  // Ends the display.
  void Finish();

 private:
  struct Work {
    double ns = 0;
    double tokens = 0;
    double rounds = 0;
  };

  std::string Bar(int done, int all) const;
  std::vector<std::string> Table() const;

  const records::Context& context_;
  std::ostream& out_;
  const Clock& clock_;
  bool terminal_;
  std::int64_t start_ns_;
  int fresh_ = 0;
  int tenths_ = 0;
  int lines_ = 0;  // drawn, to be drawn over
  // By cell and prompt.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Work> work_;
};

// How far a command has come with steps that may take long.

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

// How long something takes, for people.

// "12 s", "1:05 min" or "2:30 h": rounded to seconds, and from an hour on cut
// to minutes.
std::string DurationText(double seconds);

// A signal that asks a run to end after the record that it decodes.

// While it exists SIGUSR1 does not end the process but is remembered. One at a
// time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool came() const;

 private:
  struct sigaction before_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PROGRESS_H_
