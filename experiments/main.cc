// The program `banyan`: one subcommand a run.
#include "experiments/commands/command_line.h"
#include "experiments/commands/commands.h"

int main(int argc, char** argv) {
  banyan::CommandLine line(
      "banyan", "Tree-based speculative inference of language models.");
  banyan::AddListCommand(line);
  banyan::AddExactCommand(line);
  banyan::AddTreeCommand(line);
  banyan::AddMeasureCommand(line);
  banyan::AddTokenizeCommand(line);
  banyan::AddScoreCommand(line);
  banyan::AddGenerateCommand(line);
  banyan::AddBeamCommand(line);
  banyan::AddGrowCommand(line);
  banyan::AddCalibrateCommand(line);
  banyan::AddDoctorCommand(line);
  banyan::AddSearchCommand(line);
  banyan::AddCheckCommand(line);
  banyan::AddRunCommand(line);
  banyan::AddReportCommand(line);
  banyan::AddCompareCommand(line);
  banyan::AddFastestCommand(line);
  banyan::AddExportCommand(line);
  banyan::AddCountCommand(line);
  banyan::AddIndexCommand(line);
  return line.Run(argc, argv);
}
