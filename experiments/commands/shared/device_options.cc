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
#include "experiments/commands/shared/help.h"
#include "experiments/commands/shared/warnings.h"

namespace banyan {

void AddDeviceOptions(Command& command, DeviceChoice& choice) {
  std::vector<std::string> names;
  std::vector<std::string> devices;
  std::vector<std::string> sets;
  for (const DeviceRow& row : DeviceTable()) {
    names.emplace_back(row.name);
    devices.push_back(absl::StrCat(row.name, " (", row.sentence, ")"));
    const std::vector<std::string> here = row.instruction_sets();
    if (!here.empty())
      sets.push_back(
          absl::StrCat("on ", row.name, " ", absl::StrJoin(here, " ")));
  }
  command
      .Option(
          "--device", &choice.name,
          absl::StrCat("The device that computes: ", Alternatives(names), "."))
      .ShowDefault()
      .Shared(absl::StrCat(
          "The device that computes: ", absl::StrJoin(devices, "; "), "."));
  command
      .Option("--threads", &choice.options.threads,
              "Threads that compute; 0 is all.")
      .ShowDefault()
      .Shared("Threads that compute. The default, 0, is all.");
  command
      .Flag("--fast", &choice.options.fast,
            "Use cuBLAS for products, on cuda only.")
      .Shared(
          "Use cuBLAS for products, on cuda only. Logits then depend on "
          "the batch in their last bits: greedy texts of a method may "
          "differ from plain decoding's.");
  command
      .Option("--instruction-set", &choice.options.instruction_set,
              "The instruction set of the device.")
      .Shared(absl::StrCat(
          "The instruction set of the device: ", absl::StrJoin(sets, "; "),
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
