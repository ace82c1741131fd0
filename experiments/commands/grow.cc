// banyan grow: a model's function at the cost of a larger one.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/model_text.h"
#include "core/json/json_value.h"
#include "drafters/catalogue.h"
#include "drafters/head_tools.h"
#include "drafters/row.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/makers/grow/grow_model.h"
#include "experiments/makers/grow/model_size.h"
#include "experiments/makers/grow/output_folder.h"
#include "experiments/plan/made_for.h"

namespace banyan {
namespace {

struct Options {
  std::string model;
  SizeWish wish;
  std::string out;
  std::vector<std::string> heads_from;
  std::vector<std::string> heads_out;  // of each
  bool like_target = false;
  WriteOptions write;
  std::string seed = "0";
  bool json = false;
};

struct Grown {
  std::string name;
  GrownModel model;
  std::vector<GrownHeads> heads;  // in the order of the options
  double seconds = 0;
};

JsonValue ToJson(const ModelSize& size, std::int64_t parameters) {
  return {{"hidden", size.hidden},
          {"layers", size.layers},
          {"heads", size.heads},
          {"kv_heads", size.kv_heads},
          {"feed_forward", size.feed_forward},
          {"parameters", parameters}};
}

JsonValue ToJson(const GrownHeads& heads, const std::string& folder) {
  JsonValue out;
  for (const HeadFact& fact : heads.facts)
    std::visit([&](auto value) { out[fact.name] = value; }, fact.value);
  out["like_target"] = heads.like_target;
  out["out"] = folder;
  out["bytes"] = heads.bytes;
  return out;
}

JsonValue ToJson(const Options& options, const Grown& grown) {
  JsonValue out;
  out["grown_from"] = grown.name;
  out["before"] = ToJson(grown.model.before, grown.model.parameters_before);
  out["after"] = ToJson(grown.model.after, grown.model.parameters);
  out["out"] = options.out;
  out["bytes"] = grown.model.bytes;
  JsonValue& heads = out["heads"] = JsonValue::List();
  for (std::size_t i = 0; i < grown.heads.size(); ++i)
    heads.Add(ToJson(grown.heads[i], options.heads_out[i]));
  out["seed"] = options.write.seed;
  out["seconds"] = grown.seconds;
  return out;
}

std::string Line(const ModelSize& size, std::int64_t parameters) {
  return absl::StrFormat(
      "%7d %7d %6d %9d %13d %12.1f M\n", size.hidden, size.layers, size.heads,
      size.kv_heads, size.feed_forward, static_cast<double>(parameters) / 1e6);
}

void PrintText(const Options& options, const Grown& grown) {
  const GrownModel& model = grown.model;
  std::cout << absl::StreamFormat("%s: grown from %s\n", options.out,
                                  grown.name)
            << absl::StreamFormat("%8s%7s %7s %6s %9s %13s %14s\n", "",
                                  "hidden", "layers", "heads", "kv heads",
                                  "feed-forward", "parameters")
            << "  before" << Line(model.before, model.parameters_before)
            << "  after " << Line(model.after, model.parameters);
  for (std::size_t i = 0; i < grown.heads.size(); ++i)
    std::cout << absl::StreamFormat(
        "%s: %s, %.1f MB\n", options.heads_out[i], grown.heads[i].summary,
        static_cast<double>(grown.heads[i].bytes) / 1e6);
  std::cout << absl::StreamFormat("%.1f MB in %.1f s\n",
                                  static_cast<double>(model.bytes) / 1e6,
                                  grown.seconds);
}

GrowingTarget GrowingTo(const Checkpoint& checkpoint, const ModelSize& size,
                        bool like_target) {
  GrowingTarget target = {.hidden_size = checkpoint.architecture().hidden_size,
                          .new_hidden_size = size.hidden,
                          .vocab_size = checkpoint.architecture().vocab_size,
                          .checkpoint = &checkpoint};
  if (like_target)
    target.like = {.heads = size.heads,
                   .kv_heads = size.kv_heads,
                   .feed_forward = size.feed_forward};
  return target;
}

// Grown heads are for the grown target. Those that say of no target for whom
// they are, say nothing.
absl::Status WriteMadeFor(const std::string& from, const std::string& target,
                          const ModelSize& size, OutputFolder& folder) {
  absl::StatusOr<MadeFor> made_for = ReadMadeFor(from);
  if (absl::IsNotFound(made_for.status())) return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(made_for.status());
  made_for->target = target;
  made_for->hidden_size = size.hidden;
  made_for->layers = size.layers;
  return folder.Write(kMadeForFile, ToJson(*made_for));
}

absl::Status Grow(Options options) {
  if (options.heads_from.size() != options.heads_out.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "--heads-from and --heads-out go together, found ",
        options.heads_from.size(), " and ", options.heads_out.size()));
  if (options.like_target && options.heads_from.empty())
    return absl::InvalidArgumentError(
        "--like-target is about heads: give some with --heads-from");
  BANYAN_ASSIGN_OR_RETURN(options.write.seed, ReadSeed(options.seed));
  if (IsGguf(options.model))
    return absl::InvalidArgumentError(
        absl::StrCat("expected a directory, found '", options.model,
                     "': make it one with banyan convert"));
  if (IsModelFile(options.model))
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a directory, found '", options.model,
        "', which banyan pack wrote: grow the model that it was packed from"));
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(options.model));
  for (const std::string& warning : checkpoint->warnings())
    PrintWarning(warning);
  BANYAN_ASSIGN_OR_RETURN(
      const ModelSize size,
      ResolveSize(checkpoint->architecture(), options.wish));
  Grown grown = {.name = BaseName(options.model)};
  const std::string target = BaseName(options.out);
  std::vector<std::unique_ptr<OutputFolder>> folders;
  // The shorter work first.
  for (std::size_t i = 0; i < options.heads_from.size(); ++i) {
    BANYAN_ASSIGN_OR_RETURN(folders.emplace_back(),
                            OutputFolder::Make(options.heads_out[i]));
    BANYAN_ASSIGN_OR_RETURN(
        grown.heads.emplace_back(),
        GrowHeads(options.heads_from[i],
                  {.target = GrowingTo(*checkpoint, size, options.like_target)},
                  options.write, *folders.back()));
    BANYAN_RETURN_IF_ERROR(
        WriteMadeFor(options.heads_from[i], target, size, *folders.back()));
  }
  BANYAN_ASSIGN_OR_RETURN(folders.emplace_back(),
                          OutputFolder::Make(options.out));
  BANYAN_ASSIGN_OR_RETURN(
      grown.model, GrowModel(*checkpoint, size, options.write, *folders.back(),
                             ShowWritten));
  for (const std::unique_ptr<OutputFolder>& written : folders) written->Keep();
  grown.seconds = static_cast<double>(clock.NowNs() - begin) / 1e9;
  if (options.json)
    std::cout << ToJson(options, grown).Text(2) << "\n";
  else
    PrintText(options, grown);
  return absl::OkStatus();
}

// Whose heads can grow.
std::vector<absl::string_view> DraftersWithHeads() {
  std::vector<absl::string_view> names;
  for (const DrafterRow& row : DrafterCatalogue())
    if (row.heads.growable != nullptr) names.push_back(row.name);
  return names;
}

void AddSizes(Command& command, SizeWish& wish) {
  command.Option(
      "--like", &wish.like,
      absl::StrCat("A shape, ", kShapeNames,
                   ": hidden 768, 12 layers, feed-forward 2048; 2048, 22, 5632 "
                   "(TinyLlama's); 4096, 32, 11008. Heads keep their "
                   "dimensions: as many as fit the hidden size, on 12, 4 and "
                   "64 key heads if each has 64, or as many as come near that "
                   "width; layers and key heads are never fewer than the "
                   "model's."));
  const auto size = [&](const char* name, int& value, const char* help) {
    command.Option(name, &value, help).AtLeast(1);
  };
  size("--hidden", wish.sizes.hidden,
       "Hidden size. A size given replaces the shape's; without a shape, those "
       "left out stay the model's. Logits stay the same to the last bit if "
       "this is 4, 16, 64... times the model's, else they are rounded "
       "elsewhere.");
  size("--layers", wish.sizes.layers, "Layers; new ones come last.");
  size("--heads", wish.sizes.heads, "Query heads.");
  size("--kv-heads", wish.sizes.kv_heads, "Key heads.");
  size("--feed-forward", wish.sizes.feed_forward, "Feed-forward size.");
}

}  // namespace

void AddGrowCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "grow",
       .sentence =
           "Pads a small model to a larger one's size with equal outputs.",
       .more = "Its cost is then the larger model's, and acceptance is real at "
               "any ratio of costs. Padding is zeros where it would be read, "
               "noise elsewhere.",
       .example = "  banyan grow --model models/pycode-target --hidden 384 "
                  "--out grown"});
  const auto options = std::make_shared<Options>();
  command
      .Option(
          "--model", &options->model,
          "The small model's directory: llama, mistral, qwen2, qwen3. Not a "
          "GGUF or packed file.")
      .Required();
  command
      .Option("--out", &options->out,
              "The folder to write: made, or empty so far.")
      .Required();
  AddSizes(command, options->wish);
  command
      .Option("--heads-from", &options->heads_from,
              absl::StrCat("A directory of heads of the small model, as a "
                           "drafter reads them: ",
                           absl::StrJoin(DraftersWithHeads(), ", "),
                           ". May be given again, for others."))
      .OneEachTime();
  command
      .Option("--heads-out", &options->heads_out,
              "The folder to write the grown heads to, one for each.")
      .OneEachTime();
  command.Flag(
      "--like-target", &options->like_target,
      "Let heads grow in every size as the target does, and so in cost. "
      "Without it EAGLE heads stay at their trained sizes; Medusa's grow "
      "always.");
  command.Option("--seed", &options->seed, "Of the noise.").ShowDefault();
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Grow(*options); });
}

}  // namespace banyan
