#include "experiments/run/step_progress.h"

#include <unistd.h>

#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "experiments/run/duration_text.h"

namespace banyan {
namespace {

constexpr double kQuietS = 2;

}  // namespace

StepProgress::StepProgress(Options options)
    : options_(std::move(options)), start_ns_(options_.clock.NowNs()) {}

StepProgress::StepProgress(std::string doing, const Clock& clock)
    : StepProgress(Options{.doing = std::move(doing),
                           .clock = clock,
                           .out = std::cerr,
                           .terminal = isatty(STDERR_FILENO) == 1}) {}

StepProgress::~StepProgress() {
  if (wipe_) options_.out << "\r\033[K" << std::flush;
}

void StepProgress::Show(int done, int all) {
  const double seconds =
      static_cast<double>(options_.clock.NowNs() - start_ns_) / 1e9;
  if (seconds < kQuietS || done == 0) return;
  const int tenths = 10 * done / all;
  if (!options_.terminal && tenths <= tenths_) return;
  tenths_ = tenths;
  const std::string line =
      absl::StrCat(options_.doing, ": ", done, " of ", all, ", ",
                   DurationText(seconds / done * (all - done)), " left");
  if (options_.terminal)
    options_.out << "\r\033[K" << line << std::flush;
  else
    options_.out << "banyan: " << line << "\n" << std::flush;
  wipe_ = options_.terminal;
}

}  // namespace banyan
