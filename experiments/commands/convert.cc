// banyan convert: a GGUF file as a Hugging Face directory.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/checkpoint.h"
#include "core/gguf/gguf_file.h"
#include "core/json/json_value.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/makers/convert_model.h"
#include "experiments/makers/grow/output_folder.h"

namespace banyan {
namespace {

struct Options {
  std::string file;
  std::string out;
  std::string weights = "auto";
  bool json = false;
};

std::optional<DType> MatricesOf(const std::string& weights) {
  if (weights == "f32") return DType::kF32;
  if (weights == "bf16") return DType::kBf16;
  return std::nullopt;
}

absl::Status Convert(const Options& options) {
  if (!IsGguf(options.file))
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a file that ends in .gguf, found '", options.file, "'"));
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(options.file));
  for (const std::string& warning : checkpoint->warnings())
    PrintWarning(warning);
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFolder> folder,
                          OutputFolder::Make(options.out));
  BANYAN_ASSIGN_OR_RETURN(const ConvertedModel done,
                          ConvertModel(*checkpoint, MatricesOf(options.weights),
                                       *folder, ShowWritten));
  folder->Keep();
  if (options.json)
    std::cout << JsonValue({{"out", options.out},
                            {"source_format", done.source_format},
                            {"tensors", done.tensors},
                            {"parameters", done.parameters},
                            {"bytes", done.bytes}})
                     .Text(2)
              << "\n";
  else
    std::cout << absl::StreamFormat(
        "%s: %d tensors, %d numbers, %.1f MB, from %s\n", options.out,
        done.tensors, done.parameters, static_cast<double>(done.bytes) / 1e6,
        done.source_format);
  return absl::OkStatus();
}

}  // namespace

void AddConvertCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "convert",
       .sentence = "Writes a GGUF file as a Hugging Face directory.",
       .more = "The directory has config.json, tokenizer.json and "
               "model.safetensors. Every option that takes a model's directory "
               "takes a GGUF file as well.",
       .example =
           "  banyan convert tests/goldens/gguf/llama.gguf --out converted"});
  const auto options = std::make_shared<Options>();
  command.Option("FILE", &options->file, "The GGUF file.").Required();
  command
      .Option("--out", &options->out,
              "The folder to write: made, or empty so far.")
      .Required();
  command
      .Option("--weights", &options->weights,
              "How matrices are stored: auto (F32, F16 and BF16 as they are, "
              "blocks as F32: nothing is lost), f32 or bf16.")
      .ShowDefault()
      .OneOf({"auto", "f32", "bf16"});
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Convert(*options); });
}

}  // namespace banyan
