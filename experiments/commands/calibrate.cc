// banyan calibrate: how often a drafter's draws are accepted, by rank.
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "configs/loader/loader.h"
#include "core/base/counted.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/read_method.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/tools/calibration.h"

namespace banyan {
namespace {

struct Options {
  ModelOptions model;
  std::string method;
  std::string workload;
  std::optional<std::string> chat;
  OutputPath out;
  std::string temperature;
  std::string seed = "0";
  int prompts = 0;
  int max_new_tokens = 64;
  int ranks = 8;
  bool timed = false;
};

std::string About(const Options& options) {
  return absl::StrCat(
      "# How often draws are accepted, by their rank (banyan calibrate): ",
      options.method, "\n# on ", options.workload, AsChats(options.chat),
      ", target ", options.model.spec.directory, ", seed ", options.seed, ", ",
      options.prompts == 0 ? "all prompts" : Counted(options.prompts, "prompt"),
      ", at most ", Counted(options.max_new_tokens, "token"),
      " each. A policy reads it as\n# `calibration: !include FILE`.\n");
}

absl::Status Run(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(const std::uint64_t seed, ReadSeed(options.seed));
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel target,
                          shelf.Open(options.model.spec));
  CalibrationTask task = {
      .context = {.target = options.model.spec, .shelf = shelf},
      .ranks = options.ranks,
      .seed = seed,
      .timed = options.timed};
  BANYAN_ASSIGN_OR_RETURN(const Params method, LoadYamlFile(options.method));
  task.method = ReadMethodSpec(method);
  BANYAN_ASSIGN_OR_RETURN(
      task.prompts,
      ReadPrompts(options.workload, options.prompts, target, options.chat));
  task.stop = {.end_of_text = target.model->facts().end_of_text,
               .max_new_tokens = options.max_new_tokens};
  BANYAN_ASSIGN_OR_RETURN(task.context.sampling,
                          TemperatureOnly(options.temperature));
  const bool terminal = isatty(STDERR_FILENO) == 1;
  BANYAN_ASSIGN_OR_RETURN(
      const Calibration calibration, Calibrate(task, [&](int done, int all) {
        if (!terminal) return;
        std::cerr << "\rcalibrating " << done << "/" << all << std::flush;
        if (done == all) std::cerr << "\r\033[K";
      }));
  const std::string text = ToYaml(calibration, About(options));
  BANYAN_RETURN_IF_ERROR(WriteOutput(options.out, text));
  std::cout << text;
  return absl::OkStatus();
}

}  // namespace

void AddCalibrateCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "calibrate",
       .sentence = "Measures how often a method's draws are accepted, by rank.",
       .more = "It also measures how often heads are right. Tree policies read "
               "the result.",
       .example =
           "  banyan calibrate --model models/pycode-target --prompts 4 \\\n"
           "      --method configs/methods/chain.yaml \\\n"
           "      --workload experiments/workloads/pycode.jsonl --out "
           "acceptance.yaml"});
  const auto options = std::make_shared<Options>();
  AddModelOptions(command, options->model);
  command
      .Option("--method", &options->method,
              "The method, YAML, with one drafter.")
      .Required();
  command
      .Option("--workload", &options->workload,
              "Prompts: .jsonl, or text with one a line.")
      .Required();
  AddPromptsAsChats(command, options->chat);
  command.Option("--out", &options->out, "The calibration, YAML.").Required();
  command.Option("--temperature", &options->temperature,
                 "The temperature instead of the method's.");
  command.Option("--ranks", &options->ranks, "Draws at a node.")
      .Within(1, 64)
      .ShowDefault();
  command
      .Option("--prompts", &options->prompts,
              "Prompts of the workload; 0 is all.")
      .AtLeast(0)
      .ShowDefault();
  command
      .Option("--max-new-tokens", &options->max_new_tokens,
              "Tokens after each prompt.")
      .AtLeast(1)
      .ShowDefault();
  command.Flag("--timed", &options->timed,
               "Also time a drafted level, for a policy's draft_ms.");
  command.Option("--seed", &options->seed, "The seed of the draws.")
      .ShowDefault();
  command.OnCall([options] { return Run(*options); });
}

}  // namespace banyan
