// banyan measure: what passes and drafted levels cost on this machine, and how
// often drafted tokens are accepted.
#include "experiments/commands/measure.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/common.h"
#include "core/device/ranks/communicator.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/records/machine.h"
#include "experiments/records/record_set.h"
#include "experiments/run/drafter_costs.h"
#include "experiments/run/run_file.h"

namespace banyan {
namespace {

// Every size that trees of up to 64 nodes are likely to have.
const std::vector<int>& DefaultSizes() {
  static const auto* const sizes =
      new std::vector<int>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 65};
  return *sizes;
}

bool IsYaml(const std::string& path) {
  return absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml");
}

// Fails at the first option that is given and says nothing of what is measured.
absl::Status RefuseMethodOptions(const MeasureOptions& options,
                                 absl::string_view of) {
  const std::pair<absl::string_view, bool> given[] = {
      {"--workload", !options.workload.empty()},
      {"--chat", options.chat.has_value()},
      {"--temperature", !options.temperature.empty()},
      {"--prompts", options.prompts.has_value()},
      {"--max-new-tokens", options.max_new_tokens.has_value()},
      {"--seed", !options.seed.empty()},
      {"--set", !options.settings.empty()},
      {"--width", options.count.ranks != CountOptions().ranks},
      {"--levels", options.count.levels != CountOptions().levels}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      return absl::InvalidArgumentError(absl::StrCat(
          option, " goes with an experiment or a method, not with ", of));
  return absl::OkStatus();
}

absl::Status CountRecords(const MeasureOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(const RecordSet set,
                          ReadRecordSet(options.paths, /*mixed=*/false));
  PrintWarnings(set);
  if (set.machines.size() > 1)
    PrintWarning(absl::StrCat(
        set.machines[0].paths.front(), " and ", set.machines[1].paths.front(),
        " are records of two machines, which have no fastest chain in common"));
  BANYAN_ASSIGN_OR_RETURN(const Costs costs, CountCosts(set));
  return WriteOutput(options.out, ToYaml(costs, ProvenanceOf(set)));
}

absl::Status Measure(const MeasureOptions& options) {
  const bool has_model = !options.model.spec.directory.empty();
  if (options.paths.empty()) {
    if (!has_model)
      return absl::InvalidArgumentError(
          "expected --model for its passes; or a PATH: an experiment or a "
          "method (YAML) for drafters, or record files");
    BANYAN_RETURN_IF_ERROR(RefuseMethodOptions(options, "a model alone"));
    return MeasurePasses(options);
  }
  if (options.json)
    return absl::InvalidArgumentError(
        "--json goes with --model alone, without a PATH");
  if (HowLaunched().ranks > 1)
    return absl::InvalidArgumentError(
        "several ranks measure passes only, with --model alone");
  if (!std::any_of(options.paths.begin(), options.paths.end(), IsYaml)) {
    if (has_model)
      return absl::InvalidArgumentError(
          "--model goes with no record files: they name their models");
    BANYAN_RETURN_IF_ERROR(RefuseMethodOptions(options, "record files"));
    return CountRecords(options);
  }
  if (options.paths.size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("expected one file of methods, found ",
                     options.paths.size(), " paths"));
  return MeasureMethods(options);
}

}  // namespace

absl::Status WriteCosts(Costs costs, const records::Machine& machine,
                        const std::string& command, const OutputPath& out) {
  Provenance from = {
      .machine = MachineText(machine),
      .build = kBuildRevision,
      .source = command,
      .date = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone())};
  if (IsOverloaded(machine))
    absl::StrAppendFormat(&from.source, ", at a load of %.1f on %d cores",
                          machine.load(), machine.cores());
  const auto put = [&](auto& tables) {
    for (auto& table : tables) table.from = from;
  };
  put(costs.passes);
  put(costs.levels);
  put(costs.acceptance);
  put(costs.heads);
  return WriteOutput(out, ToYaml(costs, from));
}

void AddMeasureCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "measure",
       .sentence = "Measures passes, drafted levels and acceptance.",
       .more = "With --model alone it times the model's passes, beside the "
               "limits of the device's memory and arithmetic. Of an experiment "
               "or a method (YAML) it times the target's passes and a level of "
               "each drafter, and counts how often drafted tokens are "
               "accepted. Of records it counts acceptance and finds each "
               "drafter's fastest chain. Policies, experiments and reports "
               "read what it writes.",
       .example =
           "  banyan measure --model models/pycode-target --batch 1,4,16 \\\n"
           "      --rounds 5 --out passes.yaml\n"
           "  banyan measure configs/methods/chain.yaml --prompts 2 \\\n"
           "      --model models/pycode-target --out costs.yaml \\\n"
           "      --workload experiments/workloads/pycode.jsonl\n"
           "  banyan run configs/hello.yaml --out out/hello\n"
           "  banyan measure out/hello --out counted.yaml"});
  const auto options = std::make_shared<MeasureOptions>();
  options->timing.batches = DefaultSizes();
  command.Option("PATH", &options->paths,
                 "An experiment or a method, YAML; or record files, or "
                 "directories of them.");
  AddModelOptions(command, options->model, /*required=*/false);
  AddRanksOptions(command, options->model.ranks);
  command
      .Option("--batch", &options->timing.batches,
              "Tokens in a pass, separated by commas.")
      .ByCommas()
      .ShowDefault();
  command
      .Option("--context", &options->timing.contexts,
              "Committed tokens before it, separated by commas.")
      .ByCommas()
      .ShowDefault();
  command
      .Option("--rounds", &options->timing.rounds,
              "Passes of each size; sizes take turns.")
      .AtLeast(1)
      .ShowDefault();
  command.Option("--workload", &options->workload,
                 "Prompts in the place of the experiment's: .jsonl, or text "
                 "with one prompt per line.");
  AddPromptsAsChats(command, options->chat);
  command.Option("--temperature", &options->temperature,
                 "The temperature instead of the file's.");
  command
      .Option("--prompts", &options->prompts,
              "Prompts instead of the experiment's number; 0 is all.")
      .AtLeast(0);
  command
      .Option("--max-new-tokens", &options->max_new_tokens,
              "Tokens after each prompt instead of the experiment's limit.")
      .AtLeast(1);
  command
      .Option("--set", &options->settings,
              "PATH=VALUE: a setting instead of the file's; may be given "
              "again.")
      .OneEachTime();
  command
      .Option("--width", &options->count.ranks,
              "Draws at a node, whose acceptance is counted by rank.")
      .Within(1, 64)
      .ShowDefault();
  command
      .Option("--levels", &options->count.levels,
              "Levels of the chains whose acceptance is counted by depth.")
      .Within(1, 64)
      .ShowDefault();
  command.Option("--seed", &options->seed,
                 "The seed instead of the experiment's.");
  command.Option("--out", &options->out, "Write the costs, YAML.");
  command.Flag("--json", &options->json, "Print JSON, every pass in it.");
  command.OnCall([options] { return Measure(*options); });
}

}  // namespace banyan
