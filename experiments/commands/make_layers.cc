// banyan make layers: which part of the target drafts best for the whole.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/makers/search.h"
#include "experiments/plan/presets.h"
#include "experiments/run/prepared_run.h"

namespace banyan {
namespace {

struct Options {
  ModelOptions model;
  std::string method;
  std::string workload;
  std::optional<std::string> chat;
  OutputPath out;
  OutputPath path;
  std::string temperature;
  std::string seed = "0";
  std::optional<int> prompts;
  int max_new_tokens = 48;
  int steps = 40;
};

// A million steps' worth.
constexpr std::size_t kMostPathBytes = std::size_t{1} << 28;

constexpr absl::string_view kColumns =
    "candidate,tokens_per_round,draft_ms,round_ms,speed,best";

// What a search is of; another one's path cannot be gone on from.
std::string About(const Options& options) {
  return absl::StrCat(
      options.method, " on ", options.workload, AsChats(options.chat),
      ", target ", options.model.spec.directory, ", seed ", options.seed, ", ",
      options.prompts == 0
          ? "all prompts"
          : Counted(options.prompts.value_or(kFewPrompts), "prompt"),
      ", at most ", Counted(options.max_new_tokens, "token"), " each",
      options.temperature.empty()
          ? ""
          : absl::StrCat(", temperature ", options.temperature));
}

std::string LineOf(const SearchStep& step, const SearchSpace& space) {
  const Rating& rating = step.rating;
  const std::string candidate = space.ToText(step.candidate);
  if (rating.refused) return absl::StrCat(candidate, ",refused,,,,0");
  return absl::StrFormat("%s,%.4f,%.5f,%.5f,%.4f,%d", candidate,
                         rating.tokens_per_round, rating.draft_ms,
                         rating.round_ms, rating.speed, step.best ? 1 : 0);
}

absl::StatusOr<SearchStep> StepOf(const std::string& line,
                                  const SearchSpace& space) {
  const std::vector<std::string> fields = absl::StrSplit(line, ',');
  if (fields.size() != 6)
    return absl::InvalidArgumentError("expected six columns");
  SearchStep step;
  BANYAN_ASSIGN_OR_RETURN(step.candidate, space.FromText(fields[0]));
  Rating& rating = step.rating;
  rating.refused = fields[1] == "refused";
  if (rating.refused) return step;
  if (!absl::SimpleAtod(fields[1], &rating.tokens_per_round) ||
      !absl::SimpleAtod(fields[2], &rating.draft_ms) ||
      !absl::SimpleAtod(fields[3], &rating.round_ms) ||
      !absl::SimpleAtod(fields[4], &rating.speed))
    return absl::InvalidArgumentError("expected numbers");
  step.best = fields[5] == "1";
  return step;
}

// The steps of an earlier run of this search; none if there is no such file. A
// line that was torn by a kill is left out.
absl::StatusOr<std::vector<SearchStep>> ReadPath(const std::string& path,
                                                 const std::string& about,
                                                 const SearchSpace& space) {
  std::vector<SearchStep> steps;
  const absl::StatusOr<std::string> read = ReadFile(path, kMostPathBytes);
  if (absl::IsNotFound(read.status())) return steps;
  BANYAN_RETURN_IF_ERROR(read.status());
  const std::string& text = *read;
  if (text.empty()) return steps;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();  // the text after the last line's end
  if (lines.empty() || lines.front() != absl::StrCat("# ", about))
    return absl::FailedPreconditionError(
        absl::StrCat(path, ":1: is the path of another search; expected '# ",
                     about, "', found '", lines.empty() ? text : lines.front(),
                     "'; give --path another file, or remove this one"));
  for (std::size_t i = 2; i < lines.size(); ++i) {
    absl::StatusOr<SearchStep> step = StepOf(lines[i], space);
    if (!step.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", i + 1, ": ", step.status().message(),
                       ", found '", lines[i], "'"));
    steps.push_back(*std::move(step));
  }
  return steps;
}

std::string PathText(const std::string& about, const SearchSpace& space,
                     const std::vector<SearchStep>& steps) {
  std::string text = absl::StrCat("# ", about, "\n", kColumns, "\n");
  for (const SearchStep& step : steps)
    absl::StrAppend(&text, LineOf(step, space), "\n");
  return text;
}

std::string Found(const SearchResult& result, const SearchSpace& space) {
  const SearchStep* best = nullptr;
  for (const SearchStep& step : result.path)
    if (step.best) best = &step;
  return absl::StrFormat(
      "%s: %.2f tokens a round at %.2f times the time of a plain token: "
      "speedup %.2f",
      space.ToText(best->candidate), best->rating.tokens_per_round,
      best->rating.tokens_per_round / best->rating.speed, best->rating.speed);
}

absl::Status Run(Options options) {
  if (options.path.empty()) options.path = options.out.With(".path.csv");
  BANYAN_ASSIGN_OR_RETURN(const std::uint64_t seed, ReadSeed(options.seed));
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel target,
                          shelf.Open(options.model.spec));
  SearchTask task = {.context = {.target = options.model.spec, .shelf = shelf},
                     .seed = seed,
                     .steps = options.steps};
  BANYAN_ASSIGN_OR_RETURN(task.method,
                          LoadPreset(Params::Scalar(options.method)));
  BANYAN_ASSIGN_OR_RETURN(
      task.prompts,
      ReadPrompts(options.workload, options.prompts, target, options.chat));
  task.stop = {.end_of_text = target.model->facts().end_of_text,
               .max_new_tokens = options.max_new_tokens};
  BANYAN_ASSIGN_OR_RETURN(task.context.sampling,
                          TemperatureOnly(options.temperature));
  BANYAN_ASSIGN_OR_RETURN(const SearchSpace space,
                          SearchSpace::Of(task.method, target.model->layers()));
  const std::string about = About(options);
  BANYAN_ASSIGN_OR_RETURN(task.known,
                          ReadPath(options.path.path(), about, space));
  BANYAN_RETURN_IF_ERROR(
      WriteOutput(options.path, PathText(about, space, task.known)));
  if (!task.known.empty())
    std::cerr << "going on after " << Counted(int(task.known.size()), "step")
              << " of " << options.path.path() << "\n";
  const bool terminal = isatty(STDERR_FILENO) == 1;
  int done = static_cast<int>(task.known.size());
  BANYAN_ASSIGN_OR_RETURN(
      const SearchResult result,
      Search(task, space, [&](const SearchStep& step) -> absl::Status {
        BANYAN_RETURN_IF_ERROR(AppendOutput(
            options.path, absl::StrCat(LineOf(step, space), "\n")));
        ++done;
        if (terminal)
          std::cerr << "\r\033[Ksearching " << done << "/" << options.steps
                    << "  " << LineOf(step, space) << std::flush;
        return absl::OkStatus();
      }));
  if (terminal) std::cerr << "\r\033[K";
  const std::string found = Found(result, space);
  BANYAN_RETURN_IF_ERROR(WriteOutput(
      options.out,
      absl::StrCat("# What of the target drafts best (banyan make layers): ",
                   found, ".\n# ", about, ".\n", ToYaml(result.method))));
  std::cout << PathText(about, space, result.path) << found << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddMakeLayersCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "make layers",
       .sentence =
           "Finds the early exit or the blocks to skip that draft fastest.",
       .more = "It rates candidates of self-speculation by measured acceptance "
               "and time. The same command resumes an interrupted search.",
       .example = "  banyan make layers --model models/pycode-target --prompts "
                  "4 --steps 12 \\\n"
                  "      --method configs/methods/skip.yaml \\\n"
                  "      --workload experiments/workloads/pycode.jsonl --out "
                  "skip.yaml"});
  const auto options = std::make_shared<Options>();
  AddModelOptions(command, options->model);
  command
      .Option("--method", &options->method,
              "A preset or a YAML file, with one drafter: early_exit or skip.")
      .Required();
  command
      .Option("--workload", &options->workload,
              "Prompts: .jsonl, or text with one a line.")
      .Required();
  AddPromptsAsChats(command, options->chat);
  command
      .Option("--out", &options->out,
              "The method with the best candidate, YAML.")
      .Required();
  command.Option("--path", &options->path, "All rated candidates, CSV.")
      .ShowDefault("OUT.path.csv");
  command.Option("--temperature", &options->temperature,
                 "The temperature instead of the method's.");
  command.Option("--steps", &options->steps, "Candidates to rate at most.")
      .AtLeast(1)
      .ShowDefault();
  command
      .Option("--prompts", &options->prompts,
              absl::StrCat("Prompts of the workload; 0 is all. ", kFewHelp))
      .AtLeast(0);
  command
      .Option("--max-new-tokens", &options->max_new_tokens,
              "Tokens after each prompt.")
      .AtLeast(1)
      .ShowDefault();
  command.Option("--seed", &options->seed, "The seed of the draws.")
      .ShowDefault();
  command.OnCall([options] { return Run(*options); });
}

}  // namespace banyan
