// The program `banyan`: parse, call one subcommand, say what went wrong.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "experiments/commands/commands.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

// True if the first argument is no subcommand; says which one is nearest.
bool UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({}))
    names.push_back(command->get_name());
  for (const std::string& name : names)
    if (name == argv[1]) return false;
  const std::vector<absl::string_view> known(names.begin(), names.end());
  std::cerr << "banyan: " << banyan::UnknownName("command", argv[1], known)
            << "\n";
  return true;
}

int ExitCode(const absl::Status& status) {
  std::cout.flush();
  if (!status.ok()) {
    std::cerr << "banyan: " << status.message() << "\n";
    return status.code() == absl::StatusCode::kInternal ? kFailed : kBadInput;
  }
  if (!std::cout) {
    std::cerr << "banyan: the output could not be written\n";
    return kFailed;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tree-based speculative inference of language models.",
               "banyan");
  app.require_subcommand(1);
  absl::Status status;
  banyan::AddListCommand(app, status);
  banyan::AddLawCommand(app, status);
  banyan::AddTreeCommand(app, status);
  banyan::AddMeasureCommand(app, status);
  banyan::AddTokenizeCommand(app, status);
  banyan::AddScoreCommand(app, status);
  banyan::AddGenerateCommand(app, status);
  banyan::AddGrowCommand(app, status);
  banyan::AddCalibrateCommand(app, status);
  banyan::AddCheckCommand(app, status);
  banyan::AddRunCommand(app, status);
  banyan::AddReportCommand(app, status);
  banyan::AddCompareCommand(app, status);
  banyan::AddFastestCommand(app, status);
  banyan::AddExportCommand(app, status);
  banyan::AddCountCommand(app, status);
  banyan::AddExamples(app);
  if (UnknownCommand(app, argc, argv)) return kBadInput;
  try {  // the command line library throws
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  return ExitCode(status);
}
