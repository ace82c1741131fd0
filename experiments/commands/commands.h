// The subcommands of `banyan`, one small file each.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_
#define BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_

#include "CLI/App.hpp"
#include "absl/status/status.h"

namespace banyan {

// Each registers one subcommand; when it is called, `status` gets the outcome.
// Both must outlive the parse.
void AddListCommand(CLI::App& app, absl::Status& status);
void AddLawCommand(CLI::App& app, absl::Status& status);
void AddScoreCommand(CLI::App& app, absl::Status& status);
void AddGenerateCommand(CLI::App& app, absl::Status& status);
void AddGrowCommand(CLI::App& app, absl::Status& status);
void AddCalibrateCommand(CLI::App& app, absl::Status& status);
void AddCheckCommand(CLI::App& app, absl::Status& status);
void AddRunCommand(CLI::App& app, absl::Status& status);
void AddTreeCommand(CLI::App& app, absl::Status& status);
void AddMeasureCommand(CLI::App& app, absl::Status& status);
void AddTokenizeCommand(CLI::App& app, absl::Status& status);
void AddReportCommand(CLI::App& app, absl::Status& status);
void AddCompareCommand(CLI::App& app, absl::Status& status);
void AddFastestCommand(CLI::App& app, absl::Status& status);
void AddExportCommand(CLI::App& app, absl::Status& status);
void AddCountCommand(CLI::App& app, absl::Status& status);

// Ends the help of all that were registered with an example each.
void AddExamples(CLI::App& app);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_COMMANDS_H_
