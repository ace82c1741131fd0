// The options that every command on a model has.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_MODEL_OPTIONS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_MODEL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/params.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/device_options.h"
#include "experiments/commands/shared/ranks_options.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"

namespace banyan {

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
