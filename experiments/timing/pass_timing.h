// How long a target pass takes by how many tokens it holds, beside what the
// device can do at most in the same moments.
#ifndef BANYAN_EXPERIMENTS_TIMING_PASS_TIMING_H_
#define BANYAN_EXPERIMENTS_TIMING_PASS_TIMING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/device/ranks/communicator.h"
#include "core/model/model.h"
#include "core/ops/backend.h"

namespace banyan {

struct TimingOptions {
  std::vector<int> batches = {1, 2, 4, 8, 16, 32, 64};
  std::vector<int> contexts = {128};
  int rounds = 9;
  // Timing ends after three rounds once timed passes took this long.
  double enough_ms = std::numeric_limits<double>::infinity();
  // Whether the gauge and the disk are read before each pass. Without it the
  // passes' bandwidth, peak and disk stay 0.
  bool read_limits = true;
  // The time that decides how often passes are repeated, of a measured time:
  // that of rank 0 where ranks share the model. Null: the time itself.
  std::function<absl::StatusOr<double>(double ms)> agree = nullptr;
};

// One pass and the readings of the gauge just before it.
struct TimedPass {
  double ms = 0;
  double bandwidth = 0;  // bytes a second, of a plain read; 0: not known
  double peak = 0;       // operations a second, of the weights' kind; likewise
  double disk = 0;       // bytes a second that were read ahead; 0: nothing is
};

// What a pass does, for the limits it is held against.
struct PassWork {
  double bytes = 0;       // of weights that it reads
  double disk_bytes = 0;  // of them, from disk
  double operations = 0;
};

// All passes of one size.
struct PassTiming {
  int context = 0;
  int tokens = 0;
  std::vector<TimedPass> passes;  // by round

  // Medians over the rounds. A share is what the pass would take at the
  // device's limit over what it took; the limit is the longer of reading the
  // weights, from memory or from disk, and of multiplying with them, attention
  // not counted. There are none where the device does not know its limits.
  double median_ms() const;
  double least_ms() const;
  double most_ms() const;
  std::optional<double> median_share(const PassWork& work) const;
  std::optional<double> median_bandwidth_share(double bytes) const;
  double median_disk() const;
};

// A size whose pass takes longer than the one before by a larger share than it
// has more tokens, and not by chance: even the quickest does.
struct Cliff {
  int context;
  int before;  // tokens
  int tokens;
  double times;  // as long
};
std::vector<Cliff> Cliffs(const std::vector<PassTiming>& timings);

// Sizes take turns within a round, so that what disturbs the machine disturbs
// all. A pass scores a chain after `context` committed tokens, with logits for
// every token, and is thrown away; a device that runs rounds alone runs one, of
// a tree of as many nodes, and the context grows by a token, up to 64 of them.
// The model must run on `backend`. Fails if a context and batch together do not
// fit the model's.
absl::StatusOr<std::vector<PassTiming>> TimePasses(
    const Model& model, Backend& backend, const TimingOptions& options,
    const Clock& clock, absl::FunctionRef<void(int done, int all)> progress);

// Passes on one of several ranks. Medians, in milliseconds.
struct GatherTiming {
  int context = 0;
  int tokens = 0;
  double compute_ms = 0;
  double wait_ms = 0;    // for the other ranks, before gathers
  double gather_ms = 0;  // once all had arrived
  std::int64_t gathers = 0;
  double received_bytes = 0;  // by a rank on average, from the others
};

// Passes as above on a model that `ranks` share, with one more exchange before
// each gather, which tells waiting from gathering and makes passes longer.
absl::StatusOr<std::vector<GatherTiming>> TimeGathers(
    const Model& model, MeteredCommunicator& ranks,
    const TimingOptions& options, const Clock& clock);

// The median.

// Of an even number of values, the mean of the two in the middle. Requires a
// value.
inline double Median(std::vector<double> values) {
  Check(!values.empty(), "the median of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TIMING_PASS_TIMING_H_
