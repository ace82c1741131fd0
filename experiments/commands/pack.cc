// banyan pack: a model as one file whose weights can be read in every pass.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/json/json_value.h"
#include "drafters/draft_vocabulary.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/makers/pack_model.h"
#include "experiments/run/fingerprint.h"

namespace banyan {
namespace {

struct Options {
  std::string model;
  std::string weights = "auto";
  OutputPath out;
  bool json = false;
};

absl::Status Pack(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(options.model));
  for (const std::string& warning : checkpoint->warnings())
    PrintWarning(warning);
  if (const std::string list = VocabularyFileIn(options.model); !list.empty())
    PrintWarning(absl::StrCat(list,
                              " is not in the pack: name it as the drafter's "
                              "`vocabulary`"));
  BANYAN_ASSIGN_OR_RETURN(
      const WeightFormat format,
      ResolveFormat({.directory = options.model, .weights = options.weights}));
  BANYAN_ASSIGN_OR_RETURN(
      const PackedModel done,
      PackModel(*checkpoint,
                {.format = format,
                 .source = WeightsFingerprint(FilesAt(options.model))},
                options.out.path(), ShowWritten));
  if (options.json) {
    std::cout << JsonValue({{"out", options.out.path()},
                            {"weights", Name(format)},
                            {"matrices", done.matrices},
                            {"bytes", done.bytes},
                            {"resumed_bytes", done.resumed},
                            {"extents_packed_again", done.packed_again}})
                     .Text(2)
              << "\n";
    return absl::OkStatus();
  }
  std::cout << absl::StreamFormat(
      "%s: %d matrices in %s, %.1f MB", options.out.path(), done.matrices,
      Name(format), static_cast<double>(done.bytes) / 1e6);
  if (done.resumed > 0)
    std::cout << absl::StreamFormat(", %.1f of them from an interrupted run",
                                    static_cast<double>(done.resumed) / 1e6);
  if (done.packed_again > 0)
    std::cout << absl::StreamFormat(
        "; extents of an interrupted run that were missing or damaged, and are "
        "packed again: %d",
        done.packed_again);
  std::cout << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddPackCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "pack",
       .sentence = "Writes a model as one file that can run partly from disk.",
       .more = "The file has the configuration, the tokenizer and the weights "
               "as the kernels read them. Every option that takes a model's "
               "directory takes such a file as well, except --model of grow "
               "and pack. With --memory a part of its weights stays on disk. "
               "The same command resumes after an interruption.",
       .example = "  banyan pack --model models/pycode-target --weights bf16 "
                  "--out target.pack"});
  const auto options = std::make_shared<Options>();
  command
      .Option("--model", &options->model,
              "The model: a directory or a GGUF file.")
      .Required();
  command
      .Option("--weights", &options->weights,
              "The format of the weights: auto (what fits the model's files), "
              "f32, bf16, q8 or q4.")
      .ShowDefault()
      .OneOf({"auto", "f32", "bf16", "q8", "q4"});
  command
      .Option("--out", &options->out,
              "The file to write; its name ends in .pack.")
      .Required();
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Pack(*options); });
}

}  // namespace banyan
