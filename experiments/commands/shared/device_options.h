// The options of every command that computes with a model: where, and with how
// much of the machine.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_DEVICE_OPTIONS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_DEVICE_OPTIONS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "experiments/commands/shared/command_line.h"

namespace banyan {

struct DeviceChoice {
  std::string name = kDefaultDevice;
  DeviceOptions options;
};

// `choice` must outlive the parse.
void AddDeviceOptions(Command& command, DeviceChoice& choice);

// Fails as OpenDevice.
absl::StatusOr<std::shared_ptr<Backend>> OpenDevice(const DeviceChoice& choice);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_DEVICE_OPTIONS_H_
