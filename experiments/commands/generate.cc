// banyan generate: a text, by plain decoding or by a speculative method.
#include <unistd.h>

#include <algorithm>
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

#include "absl/strings/str_replace.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/device/ranks/communicator.h"
#include "core/json/json_value.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/host_cause.h"
#include "decode/proofs.h"
#include "decode/sequence.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/loading/method_file.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/presets.h"
#include "experiments/texts/generation.h"
#include "experiments/texts/generation_text.h"
#include "experiments/texts/token_stream.h"

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
  std::string method;  // a preset or a file; empty: plain decoding
  bool compare = false;
  std::string rounds;  // empty: the method file's
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

absl::StatusOr<LoadedMethod> OpenMethod(const std::string& method,
                                        const MethodContext& context) {
  if (method.empty()) return PlainMethod(context);
  BANYAN_ASSIGN_OR_RETURN(const Params file,
                          LoadPreset(Params::Scalar(method)));
  return ReadMethodFile(file, context);
}

// What texts are generated with.
struct Generator {
  const GenerateOptions& options;
  const TokenInput& input;
  const LoadedMethod& loaded;
  const Clock& clock;
  std::uint64_t seed = 0;

  const LoadedModel& model() const { return loaded.target; }
  bool is_chat() const { return input.chat.has_value(); }
  std::string method_name() const {
    return options.method.empty()
               ? "plain"
               : std::filesystem::path(options.method).stem().string();
  }
};

// What the user is told before the first text.
absl::Status TellBefore(const Generator& generator) {
  const GenerateOptions& options = generator.options;
  BANYAN_ASSIGN_OR_RETURN(const InputTokens prompt,
                          ReadTokens(generator.input, generator.model(), {}));
  if (!prompt.warning.empty()) PrintWarning(prompt.warning);
  const int longest =
      static_cast<int>(prompt.ids.size()) + options.max_new_tokens;
  for (const std::string& note :
       NotesOn(generator.loaded,
               std::min(longest, generator.model().model->context_limit())))
    std::cerr << "banyan: " << note << "\n";
  const Method& method = generator.loaded.decoder->method();
  if (!options.json && Colours(options.color) && !method.trunks.empty())
    std::cerr << Legend(!generator.is_chat()) << "\n";
  return absl::OkStatus();
}

absl::StatusOr<Generation> GenerateOne(const Generator& generator,
                                       Decoder& decoder, Prompt prompt,
                                       RandomSource& random, bool is_shown) {
  const GenerateOptions& options = generator.options;
  StopRule stop = {.max_new_tokens = options.max_new_tokens};
  if (!options.ignore_eos)
    stop.end_of_text = generator.model().model->facts().end_of_text;
  TokenStream stream({.tokenizer = generator.model().tokenizer.get(),
                      .out = is_shown ? &std::cout : nullptr,
                      .colour = Colours(options.color),
                      .writes_prompt = !generator.is_chat()});
  return Generate(decoder,
                  {.prompt = std::move(prompt),
                   .stop = std::move(stop),
                   .random = random,
                   .clock = generator.clock},
                  stream);
}

// The text, or the answers of a chat, each after those before it.
struct Turns {
  std::string chat;  // the template's name
  std::vector<Generation> texts;
};

std::string SummaryOf(const Generation& turn,
                      const GenerationSetting& setting) {
  return absl::StrCat(
      "banyan: ",
      absl::StrReplaceAll(Summary(turn, setting), {{"\n", "\nbanyan: "}}),
      "\n");
}

GenerationSetting SettingOf(const Generator& generator, const Decoder& decoder,
                            std::string name, const std::string& chat) {
  GenerationSetting setting = {
      .target = *generator.model().model,
      .method = decoder.method(),
      .method_name = std::move(name),
      .chat = chat,
      .seed = generator.seed,
      .has_text = generator.model().tokenizer != nullptr};
  if (generator.is_chat()) setting.messages = generator.input.texts;
  return setting;
}

absl::StatusOr<Turns> GenerateTurns(const Generator& generator,
                                    Decoder& decoder, const std::string& name,
                                    bool is_shown) {
  SeededSource random(generator.seed);
  std::vector<std::string> answers;
  Turns turns;
  const std::size_t count =
      generator.is_chat()
          ? std::max<std::size_t>(generator.input.texts.size(), 1)
          : 1;
  do {
    BANYAN_ASSIGN_OR_RETURN(
        InputTokens prompt,
        ReadTokens(generator.input, generator.model(), answers));
    if (!turns.texts.empty() && is_shown) std::cout << "\n";
    turns.chat = prompt.chat;
    BANYAN_ASSIGN_OR_RETURN(
        Generation turn,
        GenerateOne(generator, decoder,
                    {.id = static_cast<std::uint32_t>(turns.texts.size()),
                     .tokens = std::move(prompt.ids)},
                    random, is_shown));
    if (is_shown)
      std::cerr << SummaryOf(turn,
                             SettingOf(generator, decoder, name, turns.chat));
    answers.push_back(turn.text);
    turns.texts.push_back(std::move(turn));
  } while (turns.texts.size() < count);
  return turns;
}

absl::Status GenerateAll(const Generator& generator) {
  BANYAN_RETURN_IF_ERROR(TellBefore(generator));
  Decoder& decoder = *generator.loaded.decoder;
  const bool is_json = generator.options.json;
  BANYAN_ASSIGN_OR_RETURN(
      const Turns turns,
      GenerateTurns(generator, decoder, generator.method_name(), !is_json));
  if (is_json)
    std::cout << ToJson(turns.texts,
                        SettingOf(generator, decoder, generator.method_name(),
                                  turns.chat))
                     .Text(2)
              << "\n";
  return absl::OkStatus();
}

// The milliseconds of all texts, without their prompts, and their tokens.
double RoundsMs(const Turns& turns) {
  double ms = 0;
  for (const Generation& text : turns.texts)
    ms += text.MsPerToken() * static_cast<double>(text.ids.size());
  return ms;
}

struct Counts {
  double tokens = 0;
  double passes = 0;
};

Counts CountsOf(const Turns& turns) {
  Counts counts;
  for (const Generation& text : turns.texts) {
    counts.tokens += static_cast<double>(text.ids.size());
    counts.passes += static_cast<double>(text.rounds.size());
  }
  return counts;
}

bool HaveSameIds(const Turns& a, const Turns& b) {
  return std::equal(a.texts.begin(), a.texts.end(), b.texts.begin(),
                    b.texts.end(),
                    [](const Generation& one, const Generation& other) {
                      return one.ids == other.ids;
                    });
}

// Both are repeated, in turn, until they took this long, but this often at
// most.
constexpr double kRepeatMs = 4000;
constexpr int kMostPairs = 5;

// Returns 1 for a method that carries what it learnt to the next text, for it
// would know this one by then; and where several ranks share the target, whose
// clocks would not stop at the same pair.
int MostPairs(const Method& method) {
  const bool carries = std::any_of(
      method.trunks.begin(), method.trunks.end(),
      [](const Trunk& trunk) { return trunk.drafter->carried() != nullptr; });
  return carries || HowLaunched().ranks > 1 ? 1 : kMostPairs;
}

absl::Status CompareWithPlain(const Generator& generator) {
  BANYAN_RETURN_IF_ERROR(TellBefore(generator));
  Decoder& decoder = *generator.loaded.decoder;
  const std::string name = generator.method_name();
  const bool is_json = generator.options.json;
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<Decoder> plain,
      PlainBeside(generator.loaded, std::make_shared<SteadyClock>()));
  plain->method().rounds = decoder.method().rounds;
  const auto run = [&](Decoder& side, bool is_shown) {
    return GenerateTurns(generator, side, &side == &decoder ? name : "plain",
                         is_shown);
  };
  if (!is_json) std::cerr << "banyan: plain decoding\n";
  BANYAN_ASSIGN_OR_RETURN(const Turns plain_turns, run(*plain, !is_json));
  if (!is_json) std::cerr << "banyan: the same by " << name << "\n";
  BANYAN_ASSIGN_OR_RETURN(const Turns turns, run(decoder, !is_json));
  double plain_ms = RoundsMs(plain_turns);
  double method_ms = RoundsMs(turns);
  int pairs = 1;
  const int most = MostPairs(decoder.method());
  while (pairs < most && plain_ms + method_ms < kRepeatMs) {
    // Whoever came last begins, so that a drift of the machine's speed cancels.
    const bool plain_first = pairs % 2 == 0;
    for (const bool is_plain : {plain_first, !plain_first}) {
      BANYAN_ASSIGN_OR_RETURN(const Turns again,
                              run(is_plain ? *plain : decoder, false));
      (is_plain ? plain_ms : method_ms) += RoundsMs(again);
    }
    ++pairs;
  }
  const Counts counts = CountsOf(turns);
  const double each = pairs;
  BesidePlain comparison = {
      .plain_ms = plain_ms / each / CountsOf(plain_turns).tokens,
      .method_ms = method_ms / each / counts.tokens,
      .tokens_per_pass = counts.tokens / counts.passes,
      .pairs = pairs};
  if (decoder.method().rule.options().temperature == 0)
    comparison.same_text = HaveSameIds(plain_turns, turns);
  const GenerationSetting setting =
      SettingOf(generator, decoder, name, turns.chat);
  if (is_json) {
    JsonValue json = ToJson(turns.texts, setting);
    json["plain"] =
        ToJson(plain_turns.texts,
               SettingOf(generator, *plain, "plain", plain_turns.chat));
    json["comparison"] = ToJson(comparison);
    std::cout << json.Text(2) << "\n";
  } else {
    std::cout << "\n" << BesidePlainLine(comparison, setting) << "\n";
  }
  if (IsLossless(decoder.method()) && comparison.same_text == false)
    return absl::AbortedError(absl::StrCat(
        name,
        " claims to be lossless, and at temperature 0 its text is not that "
        "of plain decoding"));
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
  if (options.compare && options.method.empty())
    return absl::InvalidArgumentError(
        "--compare: expected --method, whose text and speed stand beside those "
        "of plain decoding; `banyan list presets` has all");
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
  if (!options.rounds.empty())
    loaded.decoder->method().rounds = *RoundsNamed(options.rounds);
  TokenInput input = options.prompt;
  if (input.chat == "") input.chat = loaded.chat_template;
  BANYAN_RETURN_IF_ERROR(CheckMethodAlike(options, loaded, opened));
  BANYAN_RETURN_IF_ERROR(RanksAreReady(opened.ranks));
  const Generator generator = {.options = options,
                               .input = input,
                               .loaded = loaded,
                               .clock = *context.clock,
                               .seed = seed};
  BANYAN_RETURN_IF_ERROR(options.compare ? CompareWithPlain(generator)
                                         : GenerateAll(generator));
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
                  "      --method specinfer_2 --compare --temperature 0 "
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
              "A preset (`banyan list presets`) or a YAML file: a speculative "
              "method. Without it, plain decoding. A preset finds the drafters "
              "that were made for the model.")
      .NotEmpty("a preset or a file");
  AddRoundsOption(command, options->rounds);
  command.Flag("--compare", &options->compare,
               "Also decode plainly, in turn, and end with both speeds, their "
               "ratio and whether the text is the same.");
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
