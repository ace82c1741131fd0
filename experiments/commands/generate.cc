// banyan generate: a text, by plain decoding or by a speculative method.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "configs/loader/loader.h"
#include "core/base/clock.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/device/ranks/launched.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/random/seeded_source.h"
#include "decode/sequence.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/ranks_options.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/commands/shared/warnings.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/method_file.h"
#include "experiments/models/model_shelf.h"
#include "experiments/single/generation.h"
#include "experiments/single/generation_text.h"
#include "experiments/single/token_stream.h"

namespace banyan {
namespace {

struct SamplingFlag {
  const char* option;
  const char* key;  // of a `sampling` section
  const char* help;
};
constexpr std::array<SamplingFlag, 5> kSamplingFlags = {{
    {"--temperature", "temperature",
     "Divides the logits; 0 takes the likeliest token. Without it, as without "
     "the four below, the method file's `sampling` decides, and without that "
     "the temperature is 1."},
    {"--top-k", "top_k", "Only the k likeliest tokens; 0 is off."},
    {"--top-p", "top_p",
     "Only the fewest likeliest tokens that reach mass p; 1 is off."},
    {"--min-p", "min_p",
     "Only tokens with at least this share of the largest probability; 0 is "
     "off."},
    {"--repetition-penalty", "repetition_penalty",
     "Divides the logits of tokens already in the text; 1 is off."},
}};

struct GenerateOptions {
  ModelOptions model;
  TokenInput prompt;
  std::array<std::optional<std::string>, kSamplingFlags.size()> sampling;
  int max_new_tokens = 128;
  bool ignore_eos = false;
  std::string seed = "0";
  std::string method;  // a file; empty: plain decoding
  std::string color = "auto";
  bool json = false;
};

// The sampling options given, each checked by itself so that the message names
// it.
absl::StatusOr<std::vector<Params::Entry>> SamplingEntries(
    const GenerateOptions& options) {
  std::vector<Params::Entry> entries;
  for (std::size_t i = 0; i < kSamplingFlags.size(); ++i) {
    if (!options.sampling[i].has_value()) continue;
    entries.push_back(
        {kSamplingFlags[i].key, {}, Params::Scalar(*options.sampling[i])});
    const absl::Status alone =
        SamplingRule::FromParams(Params::Map({entries.back()})).status();
    if (!alone.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(kSamplingFlags[i].option, ": ", alone.message()));
  }
  return entries;
}

bool Colours(const std::string& color) {
  if (color != "auto") return color == "always";
  // mpirun gives its ranks a terminal, whatever it writes to itself.
  if (HowLaunched().ranks > 1) return false;
  const char* refused = std::getenv("NO_COLOR");  // no-color.org
  return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || *refused == '\0');
}

std::string Legend(bool has_prompt) {
  return absl::StrCat(
      "banyan: ", has_prompt ? Painted("prompt", Ink::kPrompt) + ", " : "",
      Painted("accepted", Ink::kAccepted), ", ",
      Painted("corrected", Ink::kCorrected), ", ",
      Painted("bonus", Ink::kBonus));
}

absl::StatusOr<LoadedMethod> OpenMethod(const std::string& path,
                                        const MethodContext& context) {
  if (path.empty()) return PlainMethod(context);
  BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(path));
  return ReadMethodFile(file, context);
}

// What texts are generated with.
struct Generator {
  const GenerateOptions& options;
  const TokenInput& input;
  const LoadedModel& model;
  const LoadedMethod& loaded;
  const Clock& clock;

  bool is_chat() const { return input.chat.has_value(); }
};

// What the user is told before the first text.
void TellBefore(const Generator& generator, const InputTokens& prompt) {
  const GenerateOptions& options = generator.options;
  if (!prompt.warning.empty()) PrintWarning(prompt.warning);
  const int longest =
      static_cast<int>(prompt.ids.size()) + options.max_new_tokens;
  for (const std::string& note :
       NotesOn(generator.loaded,
               std::min(longest, generator.model.model->context_limit())))
    std::cerr << "banyan: " << note << "\n";
  const Method& method = generator.loaded.decoder->method();
  if (!options.json && Colours(options.color) && !method.trunks.empty())
    std::cerr << Legend(!generator.is_chat()) << "\n";
}

absl::StatusOr<Generation> GenerateOne(const Generator& generator,
                                       Prompt prompt, RandomSource& random) {
  const GenerateOptions& options = generator.options;
  StopRule stop = {.max_new_tokens = options.max_new_tokens};
  if (!options.ignore_eos)
    stop.end_of_text = generator.model.model->facts().end_of_text;
  TokenStream stream({.tokenizer = generator.model.tokenizer.get(),
                      .out = options.json ? nullptr : &std::cout,
                      .colour = !options.json && Colours(options.color),
                      .writes_prompt = !generator.is_chat()});
  return Generate(*generator.loaded.decoder,
                  {.prompt = std::move(prompt),
                   .stop = std::move(stop),
                   .random = random,
                   .clock = generator.clock},
                  stream);
}

// The text, or the answers of a chat, each after those before it.
absl::Status GenerateAll(const Generator& generator, std::uint64_t seed) {
  const GenerateOptions& options = generator.options;
  GenerationSetting setting = {
      .target = *generator.model.model,
      .method = generator.loaded.decoder->method(),
      .method_name =
          options.method.empty()
              ? "plain"
              : std::filesystem::path(options.method).stem().string(),
      .seed = seed,
      .has_text = generator.model.tokenizer != nullptr};
  if (generator.is_chat()) setting.messages = generator.input.texts;
  SeededSource random(seed);
  std::vector<std::string> answers;
  std::vector<Generation> turns;
  do {
    BANYAN_ASSIGN_OR_RETURN(
        InputTokens prompt,
        ReadTokens(generator.input, generator.model, answers));
    if (turns.empty()) TellBefore(generator, prompt);
    if (!turns.empty() && !options.json) std::cout << "\n";
    setting.chat = prompt.chat;
    BANYAN_ASSIGN_OR_RETURN(
        Generation turn,
        GenerateOne(generator,
                    {.id = static_cast<std::uint32_t>(turns.size()),
                     .tokens = std::move(prompt.ids)},
                    random));
    if (!options.json)
      std::cerr << "banyan: " << Summary(turn, setting) << "\n";
    answers.push_back(turn.text);
    turns.push_back(std::move(turn));
  } while (turns.size() < setting.messages.size());
  if (options.json) std::cout << ToJson(turns, setting).Text(2) << "\n";
  return absl::OkStatus();
}

// Ranks that draft with other files would give other texts.
absl::Status CheckMethodAlike(const GenerateOptions& options,
                              const LoadedMethod& loaded, SharedShelf& opened) {
  if (opened.ranks.control == nullptr) return absl::OkStatus();
  std::vector<std::string> paths = opened.shelf.assets()->TakePaths();
  paths.insert(paths.end(), loaded.policy_files.begin(),
               loaded.policy_files.end());
  if (!options.method.empty()) paths.push_back(options.method);
  return CheckAlike(*opened.ranks.control, FileTraits(paths));
}

absl::Status RunGenerate(const GenerateOptions& options) {
  if (options.max_new_tokens < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--max-new-tokens: expected at least 1, found ",
                     options.max_new_tokens));
  BANYAN_ASSIGN_OR_RETURN(const std::uint64_t seed, ReadSeed(options.seed));
  const SteadyClock clock;
  BANYAN_ASSIGN_OR_RETURN(SharedShelf opened,
                          OpenSharedShelf(options.model, clock));
  MethodContext context = {.target = options.model.spec, .shelf = opened.shelf};
  BANYAN_ASSIGN_OR_RETURN(context.sampling, SamplingEntries(options));
  BANYAN_ASSIGN_OR_RETURN(const LoadedMethod loaded,
                          OpenMethod(options.method, context));
  TokenInput input = options.prompt;
  if (input.chat == "") input.chat = loaded.chat_template;
  BANYAN_RETURN_IF_ERROR(CheckMethodAlike(options, loaded, opened));
  BANYAN_RETURN_IF_ERROR(RanksAreReady(opened.ranks));
  BANYAN_RETURN_IF_ERROR(GenerateAll({.options = options,
                                      .input = input,
                                      .model = loaded.target,
                                      .loaded = loaded,
                                      .clock = *context.clock},
                                     seed));
  return FinishRanks(opened.ranks);
}

}  // namespace

void AddGenerateCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "generate",
       .sentence =
           "Generates text by plain decoding or by a speculative method.",
       .more = "The text goes to standard output as it is generated, a summary "
               "to standard error. With --chat only the answers are printed, "
               "and a second --prompt is the user's next message.",
       .example = "  banyan generate --model models/pycode-target --prompt "
                  "'def add(a, b):' \\\n"
                  "      --method configs/methods/specinfer_2.yaml "
                  "--max-new-tokens 48\n"
                  "  banyan generate --model models/pycode-target --chat "
                  "vicuna \\\n"
                  "      --max-new-tokens 24 --system 'Be brief.' \\\n"
                  "      --prompt 'def add(a, b):' --prompt 'class Tree:'"});
  const auto options = std::make_shared<GenerateOptions>();
  AddModelOptions(command, options->model);
  AddRanksOptions(command, options->model.ranks);
  AddTokenInput(command, "--prompt", options->prompt);
  AddChatOption(command, options->prompt);
  command
      .Option("--max-new-tokens", &options->max_new_tokens,
              "The most tokens to generate.")
      .ShowDefault();
  command.Flag("--ignore-eos", &options->ignore_eos,
               "Continue after a token that ends the text.");
  for (std::size_t i = 0; i < kSamplingFlags.size(); ++i)
    command.Option(kSamplingFlags[i].option, &options->sampling[i],
                   kSamplingFlags[i].help);
  command.Option("--seed", &options->seed, "The seed of the draws.")
      .ShowDefault();
  command
      .Option("--method", &options->method,
              "YAML: a speculative method (docs/formats.md; examples "
              "in configs/methods); without, plain decoding.")
      .NotEmpty("a file");
  command
      .Option("--color", &options->color,
              "Whether colours show which tokens were accepted; with auto they "
              "do on a terminal.")
      .OneOf({"auto", "always", "never"})
      .ShowDefault();
  command.Flag("--json", &options->json,
               "Print JSON instead of the text and the summary.");
  command.OnCall([options] { return RunGenerate(*options); });
}

}  // namespace banyan
