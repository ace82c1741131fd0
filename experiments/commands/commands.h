// The subcommands of `banyan`, one small file each.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_

#include "experiments/commands/shared/command_line.h"

namespace banyan {

// Each adds one to the line.
void AddListCommand(CommandLine& line);
void AddExactCommand(CommandLine& line);
void AddScoreCommand(CommandLine& line);
void AddGenerateCommand(CommandLine& line);
void AddBeamCommand(CommandLine& line);
void AddConvertCommand(CommandLine& line);
void AddPackCommand(CommandLine& line);
void AddGrowCommand(CommandLine& line);
void AddCalibrateCommand(CommandLine& line);
void AddDoctorCommand(CommandLine& line);
void AddSearchCommand(CommandLine& line);
void AddCheckCommand(CommandLine& line);
void AddRunCommand(CommandLine& line);
void AddTreeCommand(CommandLine& line);
void AddMeasureCommand(CommandLine& line);
void AddTokenizeCommand(CommandLine& line);
void AddReportCommand(CommandLine& line);
void AddCompareCommand(CommandLine& line);
void AddFastestCommand(CommandLine& line);
void AddExportCommand(CommandLine& line);
void AddCountCommand(CommandLine& line);
void AddIndexCommand(CommandLine& line);

// In the order of the help.
inline constexpr void (*kCommands[])(CommandLine& line) = {
    AddListCommand,     AddExactCommand,    AddTreeCommand,
    AddMeasureCommand,  AddTokenizeCommand, AddScoreCommand,
    AddGenerateCommand, AddBeamCommand,     AddConvertCommand,
    AddPackCommand,     AddGrowCommand,     AddCalibrateCommand,
    AddDoctorCommand,   AddSearchCommand,   AddCheckCommand,
    AddRunCommand,      AddReportCommand,   AddCompareCommand,
    AddFastestCommand,  AddExportCommand,   AddCountCommand,
    AddIndexCommand,
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_
