// banyan doctor: whether a head's files are read as they were meant, and
// whether a small model fits its target.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/token.h"
#include "core/json/json_value.h"
#include "core/model/model.h"
#include "core/tokenizer/vocabulary.h"
#include "decode/sequence.h"
#include "drafters/catalogue.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/head_tools.h"
#include "drafters/row.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/method_spec.h"
#include "experiments/run/prepared_run.h"
#include "experiments/texts/drafter_fit.h"
#include "experiments/texts/texts.h"

namespace banyan {
namespace {

struct Options {
  ModelOptions model;
  std::string head;     // one of the two
  std::string drafter;  // a model's directory
  std::string workload;
  std::optional<int> prompts;
  bool json = false;
};

// What a pass takes at once; the rest of a text is left out.
constexpr std::size_t kMostTokens = 192;

// What is examined, and where it comes from.
struct Texts {
  std::vector<std::vector<TokenId>> tokens;
  std::string source;
};

// Shows `text` as the only one of its line, on a terminal.
void ShowLine(const std::string& text) {
  if (isatty(STDERR_FILENO) == 1) std::cerr << "\r\033[K" << text << std::flush;
}

void ShowProgress(const char* what, int done, int all) {
  ShowLine(done == all ? "" : absl::StrCat(what, " ", done, "/", all));
}

void ShowReading(int done, int all) { ShowProgress("reading", done, all); }

absl::StatusOr<Texts> WriteTexts(const Options& options, ModelShelf& shelf) {
  const int count = options.prompts.value_or(kFewPrompts);
  if (count == 0)
    return absl::InvalidArgumentError(
        "--prompts: expected at least 1 where the target writes the texts "
        "itself, found 0");
  absl::StatusOr<std::vector<std::vector<TokenId>>> written = WriteOwnTexts(
      options.model.spec, shelf, count, kMostTokens, [](int done, int all) {
        ShowProgress("writing texts, token", done, all);
      });
  ShowLine("");  // texts may end before the last token that is shown
  BANYAN_RETURN_IF_ERROR(written.status());
  Texts texts = {.tokens = *std::move(written)};
  texts.source = absl::StrCat(Counted(count, "text"),
                              " that the target wrote itself, at temperature ",
                              kOwnTemperature, " and seed ", kOwnSeed);
  return texts;
}

absl::StatusOr<Texts> ReadTexts(const Options& options,
                                const LoadedModel& target) {
  BANYAN_ASSIGN_OR_RETURN(
      std::vector<Prompt> prompts,
      ReadPrompts(options.workload, options.prompts, target));
  Texts texts;
  for (auto& [number, tokens] : prompts)
    texts.tokens.push_back(std::move(tokens));
  texts.source =
      absl::StrCat(Counted(static_cast<std::int64_t>(prompts.size()), "text"),
                   " of ", options.workload);
  return texts;
}

// As many tokens of each as are examined. Without texts that are too short.
absl::StatusOr<Texts> TextsFor(const Options& options, ModelShelf& shelf,
                               const LoadedModel& target) {
  BANYAN_ASSIGN_OR_RETURN(Texts texts, options.workload.empty()
                                           ? WriteTexts(options, shelf)
                                           : ReadTexts(options, target));
  std::vector<std::vector<TokenId>> kept;
  for (std::vector<TokenId>& tokens : texts.tokens) {
    if (tokens.size() > kMostTokens) tokens.resize(kMostTokens);
    if (tokens.size() > 2) kept.push_back(std::move(tokens));
  }
  if (kept.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(texts.source, ": none has three tokens or more"));
  texts.tokens = std::move(kept);
  return texts;
}

// As the heads of the drafter that can read them.
absl::StatusOr<Examination> Examine(
    const Model& target, const std::string& head,
    const std::vector<std::vector<TokenId>>& texts,
    absl::FunctionRef<void(int done, int all)> progress) {
  absl::Status refused;
  for (const DrafterRow& row : DrafterCatalogue()) {
    if (row.heads.examine == nullptr) continue;
    absl::StatusOr<Examination> found =
        row.heads.examine(target, head, texts, progress);
    if (found.ok()) return found;
    refused.Update(found.status());
  }
  return refused;
}

std::string Verdict(const Examination& found) {
  const Reading& said = found.readings.front();
  if (const Reading* better = found.Better())
    return absl::StrCat("the files seem to be meant otherwise: ", better->name);
  if (!said.error.empty())
    return "the files cannot be read as they say, nor in another way";
  if (found.IsWeak())
    return "no other reading is better: the head is weak, or made for another "
           "target";
  return "no other reading is better";
}

void PrintText(const Options& options, const Examination& found) {
  std::cout << options.head << ": " << found.about << "; "
            << Counted(found.places, "place")
            << ". Overlap with the target's distribution, share of the same "
               "likeliest "
               "token, by step\n";
  for (const Reading& reading : found.readings) {
    std::cout << absl::StreamFormat("  %-42s", reading.name);
    if (!reading.error.empty()) std::cout << reading.error;
    for (std::size_t step = 0; step < reading.overlap.size(); ++step)
      std::cout << absl::StreamFormat("  %.3f %.3f", reading.overlap[step],
                                      reading.same[step]);
    std::cout << "\n";
  }
  std::cout << Verdict(found) << "\n";
}

JsonValue ToJson(const Options& options, const Examination& found) {
  JsonValue out;
  out["head"] = options.head;
  out["about"] = found.about;
  out["places"] = found.places;
  JsonValue& readings = out["readings"];
  for (const Reading& reading : found.readings) {
    JsonValue& row = readings.Add(JsonValue::Object());
    row["name"] = reading.name;
    row["overlap"] = reading.overlap;
    row["same"] = reading.same;
    row["error"] = NullIfEmpty(reading.error);
  }
  const Reading* better = found.Better();
  out["better"] = better == nullptr ? JsonValue() : JsonValue(better->name);
  out["weak"] = found.IsWeak();
  return out;
}

// The differences of tokens that are told.
constexpr std::size_t kTold = 3;

// There are texts, and none is empty.
double ReachOf(const SharedTokens& shared) {
  return static_cast<double>(shared.reached) / shared.places;
}

void PrintText(const Options& options, const DrafterFit& fit) {
  std::cout << options.drafter << " as drafter of "
            << options.model.spec.directory << "\n";
  std::cout << absl::StreamFormat("  %-14s %-24s drafter\n", "", "target");
  for (const FitFact& fact : fit.facts)
    std::cout << absl::StreamFormat(
        "  %-14s %-24s %s%s\n", fact.name, fact.target, fact.drafter,
        fact.problem.empty() ? "" : absl::StrCat("  ", fact.problem));
  for (std::size_t i = 0; i < std::min(kTold, fit.differing.size()); ++i)
    std::cout << "  " << Describe(fit.differing[i]) << "\n";
  if (fit.shared.has_value())
    std::cout << absl::StreamFormat(
        "Tokens that both have: %d, of the %s of the texts %.3f: what drafter "
        "common_tokens can reach; retokenized can reach all\n",
        fit.shared->tokens, Counted(fit.shared->places, "token"),
        ReachOf(*fit.shared));
  const Agreement& agreement = fit.agreement;
  if (agreement.places() > 0)
    std::cout << absl::StreamFormat(
        "Overlap with the target's distribution %.3f, share of the same "
        "likeliest token "
        "%.3f, at %s\n",
        agreement.overlap(), agreement.same(),
        Counted(agreement.places(), "place"));
  std::cout << fit.Verdict() << "\n";
}

JsonValue ToJson(const Options& options, const DrafterFit& fit) {
  JsonValue out;
  out["drafter"] = options.drafter;
  JsonValue& facts = out["facts"];
  for (const FitFact& fact : fit.facts) {
    JsonValue& row = facts.Add(JsonValue::Object());
    row["name"] = fact.name;
    row["target"] = fact.target;
    row["drafter"] = fact.drafter;
    row["problem"] = NullIfEmpty(fact.problem);
  }
  JsonValue& differing = out["differing"];
  differing = JsonValue::List();
  for (const TokenDifference& one : fit.differing) {
    JsonValue& row = differing.Add(JsonValue::Object());
    row["id"] = one.id;
    row["target"] = one.target;
    row["drafter"] = one.drafter;
  }
  if (fit.shared.has_value()) {
    out["shared_tokens"] = fit.shared->tokens;
    out["reach"] = ReachOf(*fit.shared);
  } else {
    out["shared_tokens"] = JsonValue();
    out["reach"] = JsonValue();
  }
  const Agreement& agreement = fit.agreement;
  const bool is_known = agreement.places() > 0;
  out["places"] = agreement.places();
  out["overlap"] = is_known ? JsonValue(agreement.overlap()) : JsonValue();
  out["same"] = is_known ? JsonValue(agreement.same()) : JsonValue();
  out["fits"] = fit.Fits();
  out["weak"] = is_known ? JsonValue(fit.IsWeak()) : JsonValue();
  out["verdict"] = fit.Verdict();
  return out;
}

absl::Status Run(const Options& options) {
  if (options.head.empty() == options.drafter.empty())
    return absl::InvalidArgumentError("expected one of --head and --drafter");
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  BANYAN_ASSIGN_OR_RETURN(const LoadedModel target,
                          shelf.Open(options.model.spec));
  BANYAN_ASSIGN_OR_RETURN(const Texts texts, TextsFor(options, shelf, target));
  const auto print = [&](const auto& found) {
    if (options.json) {
      JsonValue out = ToJson(options, found);
      out["texts"] = texts.source;
      std::cout << out.Text(2) << "\n";
    } else {
      PrintText(options, found);
      std::cout << "On " << texts.source << "\n";
    }
    return absl::OkStatus();
  };
  if (!options.drafter.empty()) {
    ModelSpec spec = options.model.spec;
    spec.directory = options.drafter;
    BANYAN_ASSIGN_OR_RETURN(const LoadedModel drafter, shelf.Open(spec));
    FitQuestion question = {.target = target, .drafter = drafter};
    if (const std::string file = VocabularyFileIn(options.drafter);
        !file.empty()) {
      BANYAN_ASSIGN_OR_RETURN(question.vocabulary, ReadDraftVocabulary(file));
    }
    BANYAN_ASSIGN_OR_RETURN(const DrafterFit fit,
                            ExamineFit(question, texts.tokens, ShowReading));
    return print(fit);
  }
  BANYAN_ASSIGN_OR_RETURN(
      const Examination found,
      Examine(*target.model, options.head, texts.tokens, ShowReading));
  BANYAN_RETURN_IF_ERROR(print(found));
  const std::string& error = found.readings.front().error;
  if (error.empty() || found.Better() != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.head, ": cannot be read as its files say: ", error));
}

}  // namespace

void AddDoctorCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "doctor",
       .sentence =
           "Checks whether an EAGLE head or a small model fits a target.",
       .more = "Of a head it prints the agreement with the target as the "
               "head's files say, and under each alternative convention. Of a "
               "small model (--drafter) it checks tokens, chat template, "
               "context and agreement.",
       .example =
           "  banyan doctor --model models/pycode-target --head "
           "models/pycode-eagle3\n"
           "  banyan doctor --model models/pycode-target --drafter "
           "models/pycode-draft-2 \\\n"
           "      --workload experiments/workloads/pycode.jsonl --prompts 4"});
  const auto options = std::make_shared<Options>();
  AddModelOptions(command, options->model);
  command.Option("--head", &options->head, "The head's directory.");
  command.Option("--drafter", &options->drafter,
                 "In its place, the directory of a small model. A "
                 "vocabulary.json in it limits what it drafts.");
  command.Option("--workload", &options->workload,
                 absl::StrCat("Texts: .jsonl, or text with one a line. Without "
                              "it the target writes texts itself, at "
                              "temperature ",
                              kOwnTemperature, " and seed ", kOwnSeed, "."));
  command
      .Option("--prompts", &options->prompts,
              absl::StrCat("Prompts of the workload; 0 is all. ", kFewHelp,
                           " Without a workload, texts to write."))
      .AtLeast(0);
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Run(*options); });
}

}  // namespace banyan
