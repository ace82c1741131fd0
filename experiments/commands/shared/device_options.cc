#include "experiments/commands/shared/device_options.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/warnings.h"

namespace banyan {

void AddDeviceOptions(Command& command, DeviceChoice& choice) {
  std::vector<std::string> devices;
  std::vector<std::string> sets;
  for (const DeviceRow& row : DeviceTable()) {
    devices.push_back(absl::StrCat(row.name, " (", row.sentence, ")"));
    const std::vector<std::string> names = row.instruction_sets();
    if (!names.empty())
      sets.push_back(
          absl::StrCat("on ", row.name, " ", absl::StrJoin(names, " ")));
  }
  command
      .Option("--device", &choice.name,
              absl::StrCat("Device: ", absl::StrJoin(devices, "; ")))
      .ShowDefault();
  command.Option("--threads", &choice.options.threads,
                 "Threads; 0, the default, is all.");
  command.Flag("--fast", &choice.options.fast,
               "Use cuBLAS for products, on cuda only. Logits then depend on "
               "the batch in their last bits: greedy texts of a method may "
               "differ from plain decoding's.");
  command.Option(
      "--instruction-set", &choice.options.instruction_set,
      absl::StrCat(
          "One of: ", absl::StrJoin(sets, "; "),
          ". The default is the first. Results are the same, except that "
          "AMX rounds products with bf16 weights in another order."));
}

absl::StatusOr<std::shared_ptr<Backend>> OpenDevice(
    const DeviceChoice& choice) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend,
                          OpenDevice(choice.name, choice.options));
  if (const std::string note = backend->facts().note; !note.empty())
    PrintWarning(note);
  return backend;
}

}  // namespace banyan
