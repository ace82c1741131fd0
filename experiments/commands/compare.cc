// banyan compare: two runs of the same cells held against each other.
#include "experiments/report/compare.h"

#include <iostream>
#include <memory>
#include <string>

#include "core/base/common.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/records/record_set.h"
#include "experiments/report/table.h"

namespace banyan {
namespace {

struct Options {
  std::string a;
  std::string b;
  CompareOptions compare;
  bool json = false;
};

absl::Status CompareRuns(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(const RecordSet a,
                          ReadRecordSet({options.a}, options.compare.mixed));
  BANYAN_ASSIGN_OR_RETURN(const RecordSet b,
                          ReadRecordSet({options.b}, options.compare.mixed));
  PrintWarnings(a);
  PrintWarnings(b);
  BANYAN_ASSIGN_OR_RETURN(const Comparison comparison,
                          Compare(a, b, options.compare));
  if (options.json)
    std::cout << ToJson(comparison).Text(2) << "\n";
  else
    std::cout << "a: " << options.a << "\nb: " << options.b << "\n\n"
              << ToText(ToTable(comparison));
  return absl::OkStatus();
}

}  // namespace

void AddCompareCommand(CommandLine& line) {
  Command command =
      line.Add({.name = "compare",
                .sentence = "Compares two runs cell by cell.",
                .more = "It compares the speedups over each run's own plain "
                        "decoding, on the prompts that both runs have.",
                .example = "  banyan run configs/hello.yaml --out out/hello\n"
                           "  banyan run configs/hello.yaml --out out/again\n"
                           "  banyan compare out/hello out/again"});
  const auto options = std::make_shared<Options>();
  command.Option("A", &options->a, "Record file, or a directory of them.")
      .Required();
  command
      .Option("B", &options->b, "Record file or directory to compare with it.")
      .Required();
  command.Option("--cell", &options->compare.cell, "Only this cell.");
  command.Flag("--mixed", &options->compare.mixed,
               "Even if workloads, chat templates, devices or instruction "
               "sets differ, or a run is of several machines.");
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return CompareRuns(*options); });
}

}  // namespace banyan
