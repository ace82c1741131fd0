// banyan beam: beam search, plainly or with the beam of a draft model.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "core/terminal/columns.h"
#include "decode/beam/beam_search.h"
#include "decode/sequence.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/texts/drafter_fit.h"

namespace banyan {
namespace {

struct Options {
  ModelOptions model;
  TokenInput prompt;
  std::string drafter;  // Names a directory; plain search if it is empty.
  BeamOptions beam;
  std::optional<double> length_power;
  std::optional<int> draft_width;
  StopRule stop = {.max_new_tokens = 64};
  bool ignore_eos = false;
  bool json = false;
};

// Has the text of each list of tokens, or nothing without a tokenizer.
using Texts = std::vector<std::optional<std::string>>;

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

JsonValue ToJson(const BeamFindings& found, const Texts& texts,
                 const InputTokens& prompt, const Model& target) {
  JsonValue beam = JsonValue::List();
  for (std::size_t i = 0; i < found.beam.size(); ++i)
    beam.Add({{"ids", found.beam[i].tokens},
              {"text", texts[i]},
              {"log_probability", found.beam[i].log_probability},
              {"value", found.beam[i].value},
              {"ended", found.beam[i].ended}});
  const ModelFacts facts = target.facts();
  return {{"prompt_ids", prompt.ids},
          {"beam", beam},
          {"stop_reason", Name(found.stopped)},
          {"passes", found.passes},
          {"steps", found.steps},
          {"rows", found.rows},
          {"draft_rows", found.draft_rows},
          {"phases_ms",
           {{"prefill", Ms(found.prefill_ns)},
            {"draft", Ms(found.draft_ns)},
            {"target", Ms(found.target_ns)},
            {"rest", Ms(found.rest_ns)}}},
          {"grown_from", NullIfEmpty(target.grown_from())},
          {"weights", Name(facts.format)},
          {"device", facts.device},
          {"backend", facts.backend}};
}

void Print(const BeamFindings& found, const Texts& texts,
           const Options& options, const Model& target) {
  const bool has_value = options.length_power.has_value();
  std::cout << absl::StreamFormat("%5s%8s%14s%s  text\n", "place", "tokens",
                                  "log p", has_value ? "         value" : "");
  for (std::size_t i = 0; i < found.beam.size(); ++i) {
    const FoundText& text = found.beam[i];
    std::cout << absl::StreamFormat("%5d%8d%14.6f", i + 1, text.tokens.size(),
                                    text.log_probability);
    if (has_value) std::cout << absl::StreamFormat("%14.6f", text.value);
    std::cout << "  "
              << Printable(texts[i].value_or(absl::StrJoin(text.tokens, ",")))
              << (text.ended ? " (ended)" : "") << "\n";
  }
  // There is a pass, because at least one token is to be found.
  std::cerr << absl::StreamFormat(
      "banyan: beam search of width %d: target passes %d, rows per pass %.1f, "
      "steps per pass %.2f, draft rows %d; %.1f ms (draft %.1f, target "
      "%.1f)%s\n",
      options.beam.width, found.passes, 1. * found.rows / found.passes,
      1. * found.steps / found.passes, found.draft_rows,
      Ms(found.draft_ns + found.target_ns + found.rest_ns), Ms(found.draft_ns),
      Ms(found.target_ns), GrownNote(target));
}

// Returns nothing if no directory is given.
absl::StatusOr<LoadedModel> OpenDrafter(const std::string& directory,
                                        const LoadedModel& target,
                                        ModelShelf& shelf) {
  if (directory.empty()) return LoadedModel();
  BANYAN_ASSIGN_OR_RETURN(LoadedModel drafter,
                          shelf.Open({.directory = directory}));
  const absl::Status alike = CheckVocabularies(drafter, target);
  if (alike.ok()) return drafter;
  return absl::InvalidArgumentError(
      absl::StrCat("--drafter ", directory, ": ", alike.message()));
}

absl::Status Run(Options options) {
  if (options.prompt.texts.size() > 1)
    return absl::InvalidArgumentError(
        "--prompt: expected one text, also with --chat");
  if (options.drafter.empty() && options.draft_width.has_value())
    return absl::InvalidArgumentError("--draft-width goes with --drafter");
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel target,
                          shelf.Open(options.model.spec));
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel drafter,
                          OpenDrafter(options.drafter, target, shelf));
  BANYAN_ASSIGN_OR_RETURN(const InputTokens prompt,
                          ReadTokens(options.prompt, target));
  if (!prompt.warning.empty()) PrintWarning(prompt.warning);
  BeamOptions& beam = options.beam;
  beam.draft_width = options.draft_width.value_or(2 * beam.width);
  beam.length_power = options.length_power.value_or(0);
  if (!options.ignore_eos)
    options.stop.end_of_text = target.model->facts().end_of_text;
  BANYAN_ASSIGN_OR_RETURN(
      const BeamFindings found,
      BeamSearch(*target.model, drafter.model.get(), prompt.ids, options.stop,
                 beam, SteadyClock()));
  Texts texts;
  for (const FoundText& text : found.beam) {
    texts.emplace_back();
    if (target.tokenizer == nullptr) continue;
    BANYAN_ASSIGN_OR_RETURN(texts.back(),
                            target.tokenizer->Decode(text.tokens, true));
  }
  if (options.json)
    std::cout << ToJson(found, texts, prompt, *target.model).Text(2) << "\n";
  else
    Print(found, texts, options, *target.model);
  return absl::OkStatus();
}

}  // namespace

void AddBeamCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "beam",
       .sentence = "Finds the likeliest texts by beam search.",
       .example =
           "  banyan beam --model models/pycode-target \\\n"
           "      --prompt 'def f(a):' --drafter models/pycode-draft-2"});
  const auto options = std::make_shared<Options>();
  AddModelOptions(command, options->model);
  AddTokenInput(command, "--prompt", options->prompt);
  AddChatOption(command, options->prompt);
  command.Option("--width", &options->beam.width, "Texts that are kept.")
      .AtLeast(1)
      .ShowDefault();
  command
      .Option("--drafter", &options->drafter,
              "The directory of a small model of the same tokens, whose beam "
              "goes ahead.")
      .NotEmpty("a directory");
  command
      .Option("--draft-width", &options->draft_width,
              "Texts that the drafter keeps, at least --width.")
      .AtLeast(1)
      .ShowDefault("twice --width");
  command.Option("--gamma", &options->beam.gamma, "Tokens that it goes ahead.")
      .AtLeast(1)
      .ShowDefault();
  command
      .Option("--length-power", &options->length_power,
              "Rank texts by their log-probability over their length to "
              "this power; 0 leaves it as it is.")
      .ShowDefault("0");
  command
      .Option("--max-new-tokens", &options->stop.max_new_tokens,
              "The most tokens of a text.")
      .AtLeast(1)
      .ShowDefault();
  command.Flag("--ignore-eos", &options->ignore_eos,
               "Continue after a token that ends the text.");
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Run(*options); });
}

}  // namespace banyan
