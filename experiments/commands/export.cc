// banyan export: records for other programs.
#include "experiments/report/export.h"

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/records/record_set.h"
#include "experiments/report/page/token_texts.h"
#include "experiments/report/stated_costs.h"

namespace banyan {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string format = "jsonl";
  std::string cell;
  OutputPath out;
};

// Leaves out every other cell.
absl::Status KeepOnly(const std::string& name, RecordSet& set) {
  std::vector<absl::string_view> known;
  for (const CellRecords& cell : set.cells) known.push_back(cell.name);
  if (set.Find(name) == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("--cell: ", UnknownName("cell", name, known)));
  std::vector<CellRecords> kept = {*set.Find(name)};
  set.cells = std::move(kept);
  return absl::OkStatus();
}

absl::Status Export(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(RecordSet set,
                          ReadRecordSet(options.paths, /*mixed=*/true));
  PrintWarnings(set);
  if (!options.cell.empty())
    BANYAN_RETURN_IF_ERROR(KeepOnly(options.cell, set));
  return WriteOutput(options.out, [&](std::ostream& out) {
    if (options.format == "jsonl") return ExportJsonLines(set, out);
    if (options.format == "context") return ExportContexts(set, out);
    if (options.format == "acceptance") return ExportAcceptance(set, out);
    TokenTexts texts;
    return ExportSpecBench(set, texts, out);
  });
}

}  // namespace

void AddExportCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "export",
       .sentence = "Writes records for other programs.",
       .example =
           "  banyan run configs/hello.yaml --out out/hello\n"
           "  banyan export out/hello --format jsonl --out hello.jsonl"});
  const auto options = std::make_shared<Options>();
  command
      .Option("PATH", &options->paths, "Record files, or directories of them.")
      .Required();
  command
      .Option("--format", &options->format,
              "jsonl: what was recorded of each prompt (the Python package "
              "of python/ reads record files themselves); context: where, "
              "how and by what experiment; spec-bench: Spec-Bench's answers; "
              "acceptance: the rates that vLLM's synthetic_acceptance_rates "
              "takes, by cell.")
      .OneOf({"jsonl", "context", "spec-bench", "acceptance"})
      .ShowDefault();
  command.Option("--cell", &options->cell, "Only this cell.");
  command.Option("--out", &options->out, "Write to this file.");
  command.OnCall([options] { return Export(*options); });
}

}  // namespace banyan
