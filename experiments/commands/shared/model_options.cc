#include "experiments/commands/shared/model_options.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "core/prob/sampling_rule.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/device_options.h"
#include "experiments/commands/shared/ranks_options.h"
#include "experiments/commands/shared/warnings.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"

namespace banyan {

void AddModelOptions(Command& command, ModelOptions& options, bool required) {
  CommandOption model =
      command.Option("--model", &options.spec.directory,
                     "The model: a directory, a GGUF file or a packed file.");
  if (required) model.Required();
  model.Shared(
      "The model: a directory with config.json, *.safetensors and, for "
      "text, tokenizer.json; a GGUF file; or a file that `banyan pack` "
      "wrote.");
  command
      .Option("--weights", &options.spec.weights,
              absl::StrCat(
                  "The format of the weights in memory: ", kWeightsNames, "."))
      .ShowDefault()
      .Shared(absl::StrCat(
          "The format of the weights in memory: ", kWeightsNames,
          ". The default, auto, is what fits the file: q8 if it holds blocks "
          "of 4 to 8 bits, bf16 if every matrix is stored so, else f32."));
  command
      .Option("--memory", &options.spec.memory,
              "Memory for the weights of a packed file, as 600MB or 1.5GB.")
      .NotEmpty("a size such as 600MB or 1.5GB")
      .Shared(
          "Memory for the model's weights and the buffers for reading "
          "them, as 600MB or 1.5GB. Layers that have no room are read from "
          "disk in every pass. The model is a file that `banyan pack` "
          "wrote.");
  AddDeviceOptions(command, options.device);
}

absl::StatusOr<ModelShelf> OpenShelf(const ModelOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend,
                          OpenDevice(options.device));
  return ModelShelf(std::move(backend), PrintWarning);
}

absl::StatusOr<SharedShelf> OpenSharedShelf(const ModelOptions& options,
                                            const Clock& clock) {
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<Backend> backend,
                          OpenDevice(options.device));
  BANYAN_ASSIGN_OR_RETURN(RankGroup ranks,
                          OpenRanks(options.ranks, *backend, clock));
  if (ranks.control != nullptr) {
    const std::string paths[] = {options.spec.directory};
    BANYAN_RETURN_IF_ERROR(CheckAlike(*ranks.control, FileTraits(paths)));
  }
  std::shared_ptr<Communicator> model = ranks.model;
  return SharedShelf{
      std::move(ranks),
      ModelShelf(std::move(backend), PrintWarning, std::move(model))};
}

absl::StatusOr<std::uint64_t> ReadSeed(const std::string& text) {
  std::uint64_t seed = 0;
  if (!absl::SimpleAtoi(text, &seed))
    return absl::InvalidArgumentError(absl::StrCat(
        "--seed: expected a whole number from 0 to 2^64 - 1, found '", text,
        "'"));
  return seed;
}

absl::StatusOr<std::vector<Params::Entry>> TemperatureOnly(
    const std::string& temperature) {
  std::vector<Params::Entry> entries;
  if (temperature.empty()) return entries;
  entries = {{"temperature", {}, Params::Scalar(temperature)}};
  const absl::Status known =
      SamplingRule::FromParams(Params::Map(entries)).status();
  if (!known.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("--temperature: ", known.message()));
  return entries;
}

}  // namespace banyan
