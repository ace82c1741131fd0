// banyan beam: beam search, plainly or with the beam of a draft model.
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
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
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
  int width = 4;
  int draft_width = 0;  // twice the width
  int gamma = 4;
  std::optional<double> length_power;
  int max_new_tokens = 64;
  bool ignore_eos = false;
  bool check = false;
  bool json = false;
};

// What is searched with.
struct Models {
  LoadedModel target;
  std::optional<LoadedModel> drafter;

  const Model* draft() const {
    return drafter.has_value() ? drafter->model.get() : nullptr;
  }
};

// A prompt, the texts found after it and, as a check, those of plain search.
struct Searched {
  Prompt prompt;
  BeamFindings found;
  std::optional<BeamFindings> plain;
};

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// Sums over the prompts.
struct Totals {
  explicit Totals(const std::vector<Searched>& all) {
    for (const Searched& one : all) {
      passes += static_cast<int>(one.found.passes.size());
      steps += one.found.Steps();
      rows += one.found.Rows();
      draft_passes += one.found.DraftPasses();
      draft_rows += one.found.DraftRows();
      ms += Ms(one.found.SearchNs());
      if (!one.plain.has_value()) continue;
      plain_passes += static_cast<int>(one.plain->passes.size());
      plain_rows += one.plain->Rows();
      plain_ms += Ms(one.plain->SearchNs());
    }
  }
  double PerPass(int number) const {
    return passes == 0 ? 0 : static_cast<double>(number) / passes;
  }

  int passes = 0, steps = 0, rows = 0, draft_passes = 0, draft_rows = 0;
  int plain_passes = 0, plain_rows = 0;
  double ms = 0, plain_ms = 0;
};

BeamOptions ToBeamOptions(const Options& options) {
  BeamOptions beam = {.width = options.width,
                      .length_power = options.length_power.value_or(0),
                      .gamma = options.gamma};
  beam.draft_width =
      options.draft_width == 0 ? 2 * options.width : options.draft_width;
  return beam;
}

absl::StatusOr<Models> OpenModels(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  Models models;
  BANYAN_ASSIGN_OR_RETURN(models.target, shelf.Open(options.model.spec));
  if (options.drafter.empty()) return models;
  BANYAN_ASSIGN_OR_RETURN(models.drafter,
                          shelf.Open({.directory = options.drafter}));
  const absl::Status alike = CheckVocabularies(*models.drafter, models.target);
  if (!alike.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("--drafter ", options.drafter, ": ", alike.message()));
  return models;
}

// Options that would do nothing.
absl::Status CheckOptions(const Options& options) {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(what);
  };
  const TokenInput& prompt = options.prompt;
  if (prompt.texts.size() > 1)
    return wrong("--prompt: expected one text, also with --chat");
  if (options.drafter.empty() && options.check)
    return wrong("--check holds a search with --drafter against plain search");
  if (options.drafter.empty() && options.draft_width > 0)
    return wrong("--draft-width goes with --drafter");
  if (options.workload.empty() && options.prompts > 0)
    return wrong("--prompts goes with --workload");
  if (options.workload.empty()) return absl::OkStatus();
  if (!prompt.texts.empty() || prompt.ids.has_value())
    return wrong("give either --workload or a prompt, not both");
  if (prompt.no_special || prompt.chat.has_value() || prompt.system.has_value())
    return wrong("--no-special, --chat and --system go with --prompt");
  return absl::OkStatus();
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

absl::Status CheckSame(const Searched& one) {
  const BeamFindings& plain = *one.plain;
  if (one.found.beam == plain.beam && one.found.stopped == plain.stopped)
    return absl::OkStatus();
  std::size_t place = 0;
  while (place < plain.beam.size() && place < one.found.beam.size() &&
         one.found.beam[place] == plain.beam[place])
    ++place;
  return absl::InternalError(
      absl::StrCat("prompt ", one.prompt.id, ": with the draft model text ",
                   place + 1, " of the beam is not plain search's"));
}

absl::StatusOr<Searched> SearchOne(const Options& options, const Models& models,
                                   Prompt prompt) {
  StopRule stop = {.max_new_tokens = options.max_new_tokens};
  if (!options.ignore_eos)
    stop.end_of_text = models.target.model->facts().end_of_text;
  const BeamOptions beam = ToBeamOptions(options);
  const SteadyClock clock;
  Searched one = {.prompt = std::move(prompt)};
  BANYAN_ASSIGN_OR_RETURN(one.found,
                          BeamSearch(*models.target.model, models.draft(),
                                     one.prompt.tokens, stop, beam, clock));
  if (!options.check) return one;
  BANYAN_ASSIGN_OR_RETURN(
      one.plain, BeamSearch(*models.target.model, nullptr, one.prompt.tokens,
                            stop, beam, clock));
  BANYAN_RETURN_IF_ERROR(CheckSame(one));
  return one;
}

absl::StatusOr<JsonValue> TextToJson(const FoundText& text,
                                     const Tokenizer* tokenizer) {
  JsonValue out = {{"ids", text.tokens},
                   {"text", nullptr},
                   {"log_probability", text.log_probability},
                   {"value", text.value},
                   {"ended", text.ended}};
  if (tokenizer == nullptr) return out;
  BANYAN_ASSIGN_OR_RETURN(std::string decoded,
                          tokenizer->Decode(text.tokens, true));
  out["text"] = std::move(decoded);
  return out;
}

absl::StatusOr<JsonValue> ToJson(const Searched& one,
                                 const Tokenizer* tokenizer) {
  const BeamFindings& found = one.found;
  JsonValue out = {{"prompt", one.prompt.id},
                   {"prompt_ids", one.prompt.tokens},
                   {"beam", JsonValue::List()},
                   {"stop_reason", std::string(Name(found.stopped))},
                   {"passes", JsonValue::List()},
                   {"phases_ms",
                    {{"prefill", Ms(found.prefill_ns)},
                     {"draft", Ms(found.draft_ns)},
                     {"target", Ms(found.target_ns)},
                     {"rest", Ms(found.rest_ns)}}},
                   {"plain_ms", nullptr}};
  for (const FoundText& text : found.beam) {
    BANYAN_ASSIGN_OR_RETURN(JsonValue shown, TextToJson(text, tokenizer));
    out["beam"].Add(std::move(shown));
  }
  for (const BeamPass& pass : found.passes)
    out["passes"].Add({{"rows", pass.rows},
                       {"steps", pass.steps},
                       {"draft_rows", pass.draft_rows},
                       {"draft_passes", pass.draft_passes}});
  if (one.plain.has_value()) out["plain_ms"] = Ms(one.plain->SearchNs());
  return out;
}

absl::Status PrintJson(const Options& options, const Models& models,
                       const std::vector<Searched>& all) {
  const BeamOptions beam = ToBeamOptions(options);
  const bool drafts = models.draft() != nullptr;
  const Totals totals(all);
  JsonValue out = {
      {"width", beam.width},
      {"length_power", beam.length_power},
      {"drafter", NullIfEmpty(options.drafter)},
      {"draft_width", drafts ? JsonValue(beam.draft_width) : JsonValue()},
      {"gamma", drafts ? JsonValue(beam.gamma) : JsonValue()},
      {"prompts", JsonValue::List()},
      {"passes", totals.passes},
      {"steps", totals.steps},
      {"rows", totals.rows},
      {"draft_passes", totals.draft_passes},
      {"draft_rows", totals.draft_rows},
      {"ms", totals.ms},
      {"plain", nullptr}};
  if (options.check)
    out["plain"] = {{"same", true},  // else it was an error
                    {"passes", totals.plain_passes},
                    {"rows", totals.plain_rows},
                    {"ms", totals.plain_ms}};
  for (const Searched& one : all) {
    BANYAN_ASSIGN_OR_RETURN(JsonValue searched,
                            ToJson(one, models.target.tokenizer.get()));
    out["prompts"].Add(std::move(searched));
  }
  const ModelFacts facts = models.target.model->facts();
  out["grown_from"] = NullIfEmpty(models.target.model->grown_from());
  out["weights"] = std::string(Name(facts.format));
  out["device"] = facts.device;
  out["backend"] = facts.backend;
  std::cout << out.Text(2) << "\n";
  return absl::OkStatus();
}

absl::Status PrintBeam(const Searched& one, bool has_value,
                       const Tokenizer* tokenizer) {
  std::cout << absl::StreamFormat("%5s%8s%14s%s  text\n", "place", "tokens",
                                  "log p", has_value ? "         value" : "");
  for (std::size_t i = 0; i < one.found.beam.size(); ++i) {
    const FoundText& text = one.found.beam[i];
    std::cout << absl::StreamFormat("%5d%8d%14.6f", i + 1, text.tokens.size(),
                                    text.log_probability);
    if (has_value) std::cout << absl::StreamFormat("%14.6f", text.value);
    std::string shown;
    if (tokenizer == nullptr) {
      for (const TokenId id : text.tokens)
        absl::StrAppend(&shown, shown.empty() ? "" : ",", id);
    } else {
      BANYAN_ASSIGN_OR_RETURN(shown, tokenizer->Decode(text.tokens, true));
    }
    std::cout << "  " << Printable(shown) << (text.ended ? " (ended)" : "")
              << "\n";
  }
  return absl::OkStatus();
}

std::string Summary(const Options& options, const Models& models,
                    const std::vector<Searched>& all) {
  const BeamOptions beam = ToBeamOptions(options);
  const Totals totals(all);
  std::string text = absl::StrFormat("beam search of width %d", beam.width);
  if (models.draft() != nullptr)
    absl::StrAppendFormat(&text, ", draft beams of width %d for %s",
                          beam.draft_width, Counted(beam.gamma, "step"));
  absl::StrAppendFormat(
      &text, ": target passes %d, rows a pass %.1f, steps a pass %.2f; %.1f ms",
      totals.passes, totals.PerPass(totals.rows), totals.PerPass(totals.steps),
      totals.ms);
  if (models.draft() != nullptr)
    absl::StrAppendFormat(&text, "; draft passes %d, rows %d",
                          totals.draft_passes, totals.draft_rows);
  if (options.check)
    absl::StrAppendFormat(&text,
                          "; plain search finds the same to the last bit, in "
                          "%d passes, %d rows and %.1f ms: %.2f times as long",
                          totals.plain_passes, totals.plain_rows,
                          totals.plain_ms, totals.plain_ms / totals.ms);
  return absl::StrCat(text, GrownNote(*models.target.model));
}

absl::Status Run(const Options& options) {
  BANYAN_RETURN_IF_ERROR(CheckOptions(options));
  BANYAN_ASSIGN_OR_RETURN(const Models models, OpenModels(options));
  BANYAN_ASSIGN_OR_RETURN(std::vector<Prompt> prompts,
                          ReadInput(options, models.target));
  const Tokenizer* tokenizer = models.target.tokenizer.get();
  std::vector<Searched> all;
  for (Prompt& prompt : prompts) {
    BANYAN_ASSIGN_OR_RETURN(Searched one,
                            SearchOne(options, models, std::move(prompt)));
    all.push_back(std::move(one));
    if (options.json) continue;
    if (!options.workload.empty())
      std::cout << "prompt " << all.back().prompt.id << "\n";
    BANYAN_RETURN_IF_ERROR(
        PrintBeam(all.back(), options.length_power.has_value(), tokenizer));
  }
  if (options.json) return PrintJson(options, models, all);
  std::cerr << "banyan: " << Summary(options, models, all) << "\n";
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
  command.Option("--width", &options->width, "Texts that are kept")
      .AtLeast(1)
      .ShowDefault();
  command
      .Option("--drafter", &options->drafter,
              "The directory of a small model of the same tokens, whose beam "
              "goes ahead.")
      .NotEmpty("a directory");
  command
      .Option("--draft-width", &options->draft_width,
              "Texts that the drafter keeps, at least --width; twice as many "
              "if not given.")
      .AtLeast(1);
  command.Option("--gamma", &options->gamma, "Tokens that it goes ahead")
      .AtLeast(1)
      .ShowDefault();
  command.Option("--length-power", &options->length_power,
                 "Rank texts by their log-probability over their length to "
                 "this power; 0, the default, leaves it as it is.");
  command
      .Option("--max-new-tokens", &options->max_new_tokens,
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
