// What a run shows while it runs: a bar with the time left, and a table of the
// methods so far.
#ifndef BANYAN_EXPERIMENTS_RUN_PROGRESS_H_
#define BANYAN_EXPERIMENTS_RUN_PROGRESS_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "experiments/records/record.pb.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_PROGRESS_H_
