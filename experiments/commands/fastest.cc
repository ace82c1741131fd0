// banyan fastest: the length at which each drafter's chain was fastest.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/status_macros.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/warnings.h"
#include "experiments/plan/acceptance.h"
#include "experiments/plan/compare.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/chain_lengths.h"

namespace banyan {
namespace {

struct Options {
  std::vector<std::string> paths;
  OutputPath out;
  bool acceptance = false;
};

absl::Status Write(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(const RecordSet set,
                          ReadRecordSet(options.paths, /*mixed=*/false));
  for (const std::string& warning : set.warnings) PrintWarning(warning);
  if (options.acceptance) {
    BANYAN_ASSIGN_OR_RETURN(const std::vector<AcceptanceTable> tables,
                            CountAcceptance(set));
    return WriteOutput(options.out, ToYaml(tables, set));
  }
  BANYAN_ASSIGN_OR_RETURN(const std::vector<ChainLength> lengths,
                          FastestChains(set));
  return WriteOutput(options.out, ToYaml(lengths, set));
}

}  // namespace

void AddFastestCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "fastest",
       .sentence = "Finds the fastest chain length of each drafter.",
       .more =
           "It finds one for each target and temperature. An experiment reads "
           "the result as compare.chains. With --acceptance it counts accepted "
           "draft tokens instead; from these counts an experiment predicts "
           "chain lengths and tree sizes (compare.chains: measured).",
       .example =
           "  banyan run configs/hello.yaml --out out/hello\n"
           "  banyan fastest out/hello --out chains.yaml\n"
           "  banyan fastest --acceptance out/hello --out acceptance.yaml"});
  const auto options = std::make_shared<Options>();
  command
      .Option("PATH", &options->paths,
              "Record files of chains of several lengths, or directories "
              "of them.")
      .Required();
  command.Flag("--acceptance", &options->acceptance,
               "Count accepted draft tokens by depth and rank instead.");
  command.Option("--out", &options->out, "Write to this file.");
  command.OnCall([options] { return Write(*options); });
}

}  // namespace banyan
