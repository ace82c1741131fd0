// The options of commands that compute with a model: the model, the device and
// the ranks.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_MODEL_OPTIONS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_MODEL_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/loading/model_shelf.h"

namespace banyan {

// The options of every command that computes with a model: where, and with how
// much of the machine.
struct DeviceChoice {
  std::string name = kDefaultDevice;
  DeviceOptions options;
};

// `choice` must outlive the parse.
void AddDeviceOptions(Command& command, DeviceChoice& choice);

// --rounds: where rounds run. `rounds` must outlive the parse.
void AddRoundsOption(Command& command, std::string& rounds);

// Fails as OpenDevice.
absl::StatusOr<std::shared_ptr<Backend>> OpenDevice(const DeviceChoice& choice);

// The options of commands that several ranks may run together, and those ranks.
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

// The options that every command on a model has.
struct ModelOptions {
  ModelSpec spec;
  DeviceChoice device;
  RanksOptions ranks;  // of commands that run on several
};

// `options` must outlive the parse.
void AddModelOptions(Command& command, ModelOptions& options,
                     bool required = true);

// A shelf on the device asked for, which prints its warnings. Fails as
// OpenDevice.
absl::StatusOr<ModelShelf> OpenShelf(const ModelOptions& options);

// The same with the ranks that share the model. Fails as OpenRanks too.
struct SharedShelf {
  RankGroup ranks;
  ModelShelf shelf;
};
absl::StatusOr<SharedShelf> OpenSharedShelf(const ModelOptions& options,
                                            const Clock& clock);

// A seed as a command line gives it: the command line library would wrap a
// negative number around.
absl::StatusOr<std::uint64_t> ReadSeed(const std::string& text);

// What --temperature puts in the place of a method's own; nothing if it is
// empty.
absl::StatusOr<std::vector<Params::Entry>> TemperatureOnly(
    const std::string& temperature);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_MODEL_OPTIONS_H_
