// The commands of `banyan`, one small file each.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_

#include "experiments/commands/shared/command_line.h"

namespace banyan {

// Each adds one to the line.
void AddCheckCommand(CommandLine& line);
void AddRunCommand(CommandLine& line);
void AddReportCommand(CommandLine& line);
void AddCompareCommand(CommandLine& line);
void AddExportCommand(CommandLine& line);
void AddGenerateCommand(CommandLine& line);
void AddBeamCommand(CommandLine& line);
void AddMeasureCommand(CommandLine& line);
void AddTreeCommand(CommandLine& line);
void AddExactCommand(CommandLine& line);
void AddListCommand(CommandLine& line);
void AddTextTokenizeCommand(CommandLine& line);
void AddTextScoreCommand(CommandLine& line);
void AddConvertCommand(CommandLine& line);
void AddPackCommand(CommandLine& line);
void AddGrowCommand(CommandLine& line);
void AddDoctorCommand(CommandLine& line);
void AddMakeLayersCommand(CommandLine& line);
void AddMakeCountsCommand(CommandLine& line);
void AddMakeIndexCommand(CommandLine& line);

struct CommandRow {
  const char* group;  // its heading in the help
  void (*add)(CommandLine& line);
};

// In the order of the help.
inline constexpr CommandRow kCommands[] = {
    {"Experiments", AddCheckCommand},  {"Experiments", AddRunCommand},
    {"Experiments", AddReportCommand}, {"Experiments", AddCompareCommand},
    {"Experiments", AddExportCommand}, {"Generation", AddGenerateCommand},
    {"Generation", AddBeamCommand},    {"Study", AddMeasureCommand},
    {"Study", AddTreeCommand},         {"Study", AddExactCommand},
    {"Study", AddListCommand},         {"Study", AddTextTokenizeCommand},
    {"Study", AddTextScoreCommand},    {"Models", AddConvertCommand},
    {"Models", AddPackCommand},        {"Models", AddGrowCommand},
    {"Models", AddDoctorCommand},      {"Models", AddMakeLayersCommand},
    {"Models", AddMakeCountsCommand},  {"Models", AddMakeIndexCommand},
};

struct OldName {
  const char* old;
  const char* name;  // now
};

// Names that commands no longer have.
inline constexpr OldName kOldNames[] = {
    {"law", "exact"},         {"tokenize", "text tokenize"},
    {"score", "text score"},  {"search", "make layers"},
    {"count", "make counts"}, {"index", "make index"},
    {"calibrate", "measure"}, {"fastest", "measure"},
};

// Options of renamed commands. One without a name now is dropped, and a value
// after it stays.
struct OldOption {
  const char* command;  // by its old name
  const char* old;
  const char* name;
};
inline constexpr OldOption kOldOptions[] = {
    {"calibrate", "--method", ""},
    {"calibrate", "--timed", ""},
    {"calibrate", "--ranks", "--width"},
    {"fastest", "--acceptance", ""},
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_
