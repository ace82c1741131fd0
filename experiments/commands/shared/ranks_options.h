// The options of commands that several ranks may run together, and those ranks.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_RANKS_OPTIONS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_RANKS_OPTIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/device/ranks/communicator.h"
#include "core/device/ranks/metered.h"
#include "core/ops/backend.h"
#include "experiments/commands/shared/command_line.h"

namespace banyan {

struct RanksOptions {
  std::optional<double> timeout_s;
  std::string link;  // emulated; empty: as it is
};

// `options` must outlive the parse.
void AddRanksOptions(Command& command, RanksOptions& options);

// Both are null if this process runs alone.
struct RankGroup {
  std::shared_ptr<Communicator> control;  // to agree by, over the link as it is
  std::shared_ptr<MeteredCommunicator> model;  // to compute a model by

  bool writes() const { return control == nullptr || control->rank() == 0; }
};

// The ranks that this process was started with. Fails if the ranks' programs,
// options or machines differ in what results depend on, naming rank and
// difference, or if the backend is none for ranks. `clock` outlives them.
absl::StatusOr<RankGroup> OpenRanks(const RanksOptions& options,
                                    const Backend& backend, const Clock& clock);

// After all is open: from here on a rank that does not answer is told.
absl::Status RanksAreReady(const RankGroup& group);

// Names and values that must be the same on every rank.
using Traits = std::vector<std::pair<std::string, std::string>>;

// Fails if some rank's differ from rank 0's.
absl::Status CheckAlike(Communicator& ranks, const Traits& mine);

// The sizes and hashes of the files at the paths, or of nothing there.
Traits FileTraits(absl::Span<const std::string> paths);

// Of a program that has not failed: waits for the other ranks, if there are
// any.
absl::Status FinishRanks(const RankGroup& group);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_RANKS_OPTIONS_H_
