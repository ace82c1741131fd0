// banyan beam: beam search, plainly or with the beam of a draft model.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "core/text/columns.h"
#include "decode/beam/beam_search.h"
#include "decode/sequence.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/commands/shared/warnings.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/single/drafter_fit.h"

namespace banyan {
namespace {

struct Options {
  ModelOptions model;
  TokenInput prompt;
  std::string drafter;  // a directory; empty: plain search
  std::string workload;
  int prompts = 0;
  BeamOptions beam = {.draft_width = 0};  // 0: twice the width
  std::optional<double> length_power;
  StopRule stop = {.max_new_tokens = 64};
  bool ignore_eos = false;
  bool check = false;
  bool json = false;
};

// What was found after a prompt.
struct Searched {
  const Prompt& prompt;
  BeamFindings found;
  std::vector<std::optional<std::string>> texts;  // without a tokenizer none
  std::optional<double> plain_ms;                 // of plain search, as a check
};

// What is searched with, and the passes and times of all prompts together.
struct Searches {
  const Options& options;
  const LoadedModel& target;
  const Model* draft;  // null: plain search
  BeamFindings found = {};
  BeamFindings plain = {};
};

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// Options that would do nothing.
absl::Status CheckOptions(const Options& options) {
  const TokenInput& prompt = options.prompt;
  const char* wrong = nullptr;
  if (prompt.texts.size() > 1)
    wrong = "--prompt: expected one text, also with --chat";
  else if (options.drafter.empty() && options.check)
    wrong = "--check holds a search with --drafter against plain search";
  else if (options.drafter.empty() && options.beam.draft_width > 0)
    wrong = "--draft-width goes with --drafter";
  else if (options.workload.empty() && options.prompts > 0)
    wrong = "--prompts goes with --workload";
  else if (options.workload.empty())
    return absl::OkStatus();
  else if (!prompt.texts.empty() || prompt.ids.has_value())
    wrong = "give either --workload or a prompt, not both";
  else if (prompt.no_special || prompt.chat.has_value() ||
           prompt.system.has_value())
    wrong = "--no-special, --chat and --system go with --prompt";
  return wrong == nullptr ? absl::OkStatus()
                          : absl::InvalidArgumentError(wrong);
}

// Without a model if none is asked for.
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

absl::StatusOr<std::vector<Prompt>> ReadInput(const Options& options,
                                              const LoadedModel& target) {
  if (!options.workload.empty())
    return ReadPrompts(options.workload, options.prompts, target);
  BANYAN_ASSIGN_OR_RETURN(InputTokens input,
                          ReadTokens(options.prompt, target));
  if (!input.warning.empty()) PrintWarning(input.warning);
  return std::vector<Prompt>{{.tokens = std::move(input.ids)}};
}

// Adds what a search took.
void Add(const BeamFindings& one, BeamFindings& sum) {
  sum.passes.insert(sum.passes.end(), one.passes.begin(), one.passes.end());
  sum.draft_ns += one.draft_ns;
  sum.target_ns += one.target_ns;
  sum.rest_ns += one.rest_ns;
}

absl::Status CheckSame(const Prompt& prompt, const BeamFindings& found,
                       const BeamFindings& plain) {
  if (found.beam == plain.beam && found.stopped == plain.stopped)
    return absl::OkStatus();
  const auto other = std::mismatch(found.beam.begin(), found.beam.end(),
                                   plain.beam.begin(), plain.beam.end());
  return absl::InternalError(
      absl::StrCat("prompt ", prompt.id, ": with the draft model text ",
                   other.first - found.beam.begin() + 1,
                   " of the beam is not plain search's"));
}

absl::StatusOr<Searched> SearchAfter(const Prompt& prompt, Searches& all) {
  const auto search = [&](const Model* draft) {
    return BeamSearch(*all.target.model, draft, prompt.tokens, all.options.stop,
                      all.options.beam, SteadyClock());
  };
  Searched one = {.prompt = prompt};
  BANYAN_ASSIGN_OR_RETURN(one.found, search(all.draft));
  Add(one.found, all.found);
  for (const FoundText& text : one.found.beam) {
    one.texts.emplace_back();
    if (all.target.tokenizer == nullptr) continue;
    BANYAN_ASSIGN_OR_RETURN(one.texts.back(),
                            all.target.tokenizer->Decode(text.tokens, true));
  }
  if (!all.options.check) return one;
  BANYAN_ASSIGN_OR_RETURN(const BeamFindings plain, search(nullptr));
  BANYAN_RETURN_IF_ERROR(CheckSame(prompt, one.found, plain));
  Add(plain, all.plain);
  one.plain_ms = Ms(plain.SearchNs());
  return one;
}

JsonValue ToJson(const Searched& one) {
  const BeamFindings& found = one.found;
  JsonValue beam = JsonValue::List();
  for (std::size_t i = 0; i < found.beam.size(); ++i)
    beam.Add({{"ids", found.beam[i].tokens},
              {"text", one.texts[i]},
              {"log_probability", found.beam[i].log_probability},
              {"value", found.beam[i].value},
              {"ended", found.beam[i].ended}});
  JsonValue passes = JsonValue::List();
  for (const BeamPass& pass : found.passes)
    passes.Add({{"rows", pass.rows},
                {"steps", pass.steps},
                {"draft_rows", pass.draft_rows},
                {"draft_passes", pass.draft_passes}});
  return {{"prompt", one.prompt.id},
          {"prompt_ids", one.prompt.tokens},
          {"beam", std::move(beam)},
          {"stop_reason", Name(found.stopped)},
          {"passes", std::move(passes)},
          {"phases_ms",
           {{"prefill", Ms(found.prefill_ns)},
            {"draft", Ms(found.draft_ns)},
            {"target", Ms(found.target_ns)},
            {"rest", Ms(found.rest_ns)}}},
          {"plain_ms", one.plain_ms}};
}

JsonValue ToJson(const Searches& all, JsonValue prompts) {
  const Options& options = all.options;
  const auto if_drafted = [&](int value) {
    return all.draft != nullptr ? JsonValue(value) : JsonValue();
  };
  JsonValue plain;
  if (options.check)
    plain = {{"same", true},  // else it was an error
             {"passes", all.plain.passes.size()},
             {"rows", all.plain.Sum(&BeamPass::rows)},
             {"ms", Ms(all.plain.SearchNs())}};
  const Model& target = *all.target.model;
  const ModelFacts facts = target.facts();
  return {{"width", options.beam.width},
          {"length_power", options.beam.length_power},
          {"drafter", NullIfEmpty(options.drafter)},
          {"draft_width", if_drafted(options.beam.draft_width)},
          {"gamma", if_drafted(options.beam.gamma)},
          {"prompts", std::move(prompts)},
          {"passes", all.found.passes.size()},
          {"steps", all.found.Sum(&BeamPass::steps)},
          {"rows", all.found.Sum(&BeamPass::rows)},
          {"draft_passes", all.found.Sum(&BeamPass::draft_passes)},
          {"draft_rows", all.found.Sum(&BeamPass::draft_rows)},
          {"ms", Ms(all.found.SearchNs())},
          {"plain", std::move(plain)},
          {"grown_from", NullIfEmpty(target.grown_from())},
          {"weights", Name(facts.format)},
          {"device", facts.device},
          {"backend", facts.backend}};
}

void PrintBeam(const Searched& one, bool has_value) {
  std::cout << absl::StreamFormat("%5s%8s%14s%s  text\n", "place", "tokens",
                                  "log p", has_value ? "         value" : "");
  for (std::size_t i = 0; i < one.found.beam.size(); ++i) {
    const FoundText& text = one.found.beam[i];
    std::cout << absl::StreamFormat("%5d%8d%14.6f", i + 1, text.tokens.size(),
                                    text.log_probability);
    if (has_value) std::cout << absl::StreamFormat("%14.6f", text.value);
    std::cout << "  "
              << Printable(
                     one.texts[i].value_or(absl::StrJoin(text.tokens, ",")))
              << (text.ended ? " (ended)" : "") << "\n";
  }
}

std::string Summary(const Searches& all) {
  const BeamOptions& beam = all.options.beam;
  const BeamFindings& found = all.found;
  const auto a_pass = [&](int BeamPass::*count) {
    return static_cast<double>(found.Sum(count)) /
           std::max(1., static_cast<double>(found.passes.size()));
  };
  std::string text = absl::StrFormat("beam search of width %d", beam.width);
  if (all.draft != nullptr)
    absl::StrAppendFormat(&text, ", draft beams of width %d for %s",
                          beam.draft_width, Counted(beam.gamma, "step"));
  absl::StrAppendFormat(
      &text, ": target passes %d, rows a pass %.1f, steps a pass %.2f; %.1f ms",
      found.passes.size(), a_pass(&BeamPass::rows), a_pass(&BeamPass::steps),
      Ms(found.SearchNs()));
  if (all.draft != nullptr)
    absl::StrAppendFormat(&text, "; draft passes %d, rows %d",
                          found.Sum(&BeamPass::draft_passes),
                          found.Sum(&BeamPass::draft_rows));
  if (all.options.check) {
    const double ms = Ms(all.plain.SearchNs());
    absl::StrAppendFormat(
        &text,
        "; plain search finds the same to the last bit, in %d passes, %d rows "
        "and %.1f ms: %.2f times as long",
        all.plain.passes.size(), all.plain.Sum(&BeamPass::rows), ms,
        ms / Ms(found.SearchNs()));
  }
  return absl::StrCat(text, GrownNote(*all.target.model));
}

absl::Status Run(Options options) {
  BANYAN_RETURN_IF_ERROR(CheckOptions(options));
  if (options.beam.draft_width == 0)
    options.beam.draft_width = 2 * options.beam.width;
  options.beam.length_power = options.length_power.value_or(0);
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel target,
                          shelf.Open(options.model.spec));
  if (!options.ignore_eos)
    options.stop.end_of_text = target.model->facts().end_of_text;
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel drafter,
                          OpenDrafter(options.drafter, target, shelf));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<Prompt> prompts,
                          ReadInput(options, target));
  Searches all = {options, target, drafter.model.get()};
  JsonValue shown = JsonValue::List();
  for (const Prompt& prompt : prompts) {
    BANYAN_ASSIGN_OR_RETURN(const Searched one, SearchAfter(prompt, all));
    if (options.json) {
      shown.Add(ToJson(one));
      continue;
    }
    if (!options.workload.empty()) std::cout << "prompt " << prompt.id << "\n";
    PrintBeam(one, options.length_power.has_value());
  }
  if (options.json)
    std::cout << ToJson(all, std::move(shown)).Text(2) << "\n";
  else
    std::cerr << "banyan: " << Summary(all) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddBeamCommand(CommandLine& line) {
  Command command = line.Add(
      "beam",
      "Finds the likeliest texts by beam search; with a draft model, the same "
      "texts in fewer passes. The texts go to standard output, a summary to "
      "standard error.",
      "  banyan beam --model models/pycode-target --prompt 'def add(a, b):' "
      "\\\n"
      "      --drafter models/pycode-draft-2 --check --max-new-tokens 32");
  const auto options = std::make_shared<Options>();
  AddModelOptions(command, options->model);
  AddTokenInput(command, "--prompt", options->prompt);
  AddChatOption(command, options->prompt);
  command
      .Option("--workload", &options->workload,
              "Prompts instead: .jsonl, or text with one a line.")
      .NotEmpty("a file");
  command
      .Option("--prompts", &options->prompts,
              "Prompts of the workload; 0, the default, is all.")
      .AtLeast(0);
  command.Option("--width", &options->beam.width, "Texts that are kept")
      .AtLeast(1)
      .ShowDefault();
  command
      .Option("--drafter", &options->drafter,
              "The directory of a small model of the same tokens, whose beam "
              "goes ahead.")
      .NotEmpty("a directory");
  command
      .Option("--draft-width", &options->beam.draft_width,
              "Texts that the drafter keeps, at least --width; twice as many "
              "if not given.")
      .AtLeast(1);
  command.Option("--gamma", &options->beam.gamma, "Tokens that it goes ahead")
      .AtLeast(1)
      .ShowDefault();
  command.Option("--length-power", &options->length_power,
                 "Rank texts by their log-probability over their length to "
                 "this power; 0, the default, leaves it as it is.");
  command
      .Option("--max-new-tokens", &options->stop.max_new_tokens,
              "The most tokens of a text")
      .AtLeast(1)
      .ShowDefault();
  command.Flag("--ignore-eos", &options->ignore_eos,
               "Continue after a token that ends the text.");
  command.Flag("--check", &options->check,
               "Search plainly too, and say whether it is the same.");
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Run(*options); });
}

}  // namespace banyan
