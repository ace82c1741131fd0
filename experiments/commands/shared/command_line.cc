#include "experiments/commands/shared/command_line.h"

#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/launched.h"
#include "core/text/columns.h"
#include "experiments/commands/shared/output.h"

namespace banyan {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;
constexpr int kRefuted = 3;  // a claim, by what was recorded
constexpr int kStopped = 4;  // as asked, before all was done

// True if the first argument is no subcommand; says which one is nearest.
bool UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({}))
    names.push_back(command->get_name());
  for (const std::string& name : names)
    if (name == argv[1]) return false;
  const std::vector<absl::string_view> known(names.begin(), names.end());
  std::cerr << app.get_name() << ": " << UnknownName("command", argv[1], known)
            << "\n";
  return true;
}

// A check that says in our words what the library would say in its own.
std::function<std::string(std::string&)> WholeNumber(int least, int most,
                                                     const std::string& range) {
  return [=](const std::string& text) -> std::string {
    int value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= least && value <= most)
      return "";
    return absl::StrCat("expected a whole number", range, ", found '", text,
                        "'");
  };
}

// The name of the check by which an option refuses an empty value.
constexpr char kFilled[] = "filled";

std::function<std::string(std::string&)> Filled(const std::string& what) {
  return [what](const std::string& value) {
    return value.empty() ? absl::StrCat("expected ", what, ", found ''")
                         : std::string();
  };
}

int ExitCode(const absl::Status& status) {
  std::cout.flush();
  if (!status.ok()) {
    std::cerr << "banyan: " << VisibleLines(status.message()) << "\n";
    if (absl::IsAborted(status)) return kRefuted;
    if (absl::IsCancelled(status)) return kStopped;
    return status.code() == absl::StatusCode::kInternal ? kFailed : kBadInput;
  }
  if (!std::cout) {
    std::cerr << "banyan: the output could not be written\n";
    return kFailed;
  }
  return 0;
}

}  // namespace

CommandOption& CommandOption::Required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

CommandOption& CommandOption::ByCommas() {
  option_->delimiter(',')->allow_extra_args(false);
  return *this;
}

CommandOption& CommandOption::OneEachTime() {
  option_->allow_extra_args(false);
  return *this;
}

CommandOption& CommandOption::AtLeast(int least) {
  return Within(least, std::numeric_limits<int>::max());
}

CommandOption& CommandOption::Within(int least, int most) {
  const std::string range = most == std::numeric_limits<int>::max()
                                ? absl::StrCat("at least ", least)
                                : absl::StrCat("from ", least, " to ", most);
  option_->check(CLI::Validator(WholeNumber(least, most, ", " + range), range));
  return *this;
}

CommandOption& CommandOption::OneOf(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

CommandOption& CommandOption::NotEmpty(const std::string& what) {
  option_->get_validator(kFilled)->operation(Filled(what));
  return *this;
}

CommandOption& CommandOption::MayBeEmpty() {
  option_->get_validator(kFilled)->active(false);
  return *this;
}

CommandOption& CommandOption::ValueOptional() {
  option_->expected(0, 1);
  return *this;
}

CommandOption Command::Option(const std::string& name, Value value,
                              const std::string& help) {
  CLI::Option* option = std::visit(
      [&](auto* target) {
        return app_->add_option(name, Target(target), help);
      },
      value);
  const bool writes = std::holds_alternative<OutputPath*>(value);
  if (writes || std::holds_alternative<std::string*>(value) ||
      std::holds_alternative<std::optional<std::string>*>(value) ||
      std::holds_alternative<std::vector<std::string>*>(value))
    texts_.push_back({option, writes});
  if (std::holds_alternative<int*>(value) ||
      std::holds_alternative<std::optional<int>*>(value) ||
      std::holds_alternative<std::vector<int>*>(value))
    option->check(
        CLI::Validator(WholeNumber(std::numeric_limits<int>::min(),
                                   std::numeric_limits<int>::max(), ""),
                       ""));
  else
    option->check(CLI::Validator(Filled("a value"), "", kFilled));
  return CommandOption(option);
}

void Command::Flag(const std::string& name, bool* value,
                   const std::string& help) {
  app_->add_flag(name, *value, help);
}

absl::Status Command::CheckOutputs(const std::vector<TextOption>& texts) {
  for (const TextOption& output : texts) {
    if (!output.writes) continue;
    std::vector<GivenOption> others;
    for (const TextOption& other : texts)
      if (&other != &output)
        others.push_back(
            {other.option->get_name(), other.option->results(), other.writes});
    BANYAN_RETURN_IF_ERROR(CheckOutput(
        {output.option->get_name(), output.option->results(), true}, others));
  }
  return absl::OkStatus();
}

void Command::OnCall(std::function<absl::Status()> call) {
  app_->callback([name = app_->get_name(), on_ranks = on_ranks_,
                  outcome = outcome_, texts = texts_, call = std::move(call)] {
    *outcome = CheckLaunch();
    if (!outcome->ok()) return;
    if (!on_ranks && HowLaunched().ranks > 1) {
      *outcome = absl::FailedPreconditionError(
          absl::StrCat(name,
                       ": was started as one of several ranks (mpirun); only "
                       "generate, measure and run share their work"));
      return;
    }
    *outcome = CheckOutputs(texts);
    if (outcome->ok()) *outcome = call();
  });
}

CommandLine::CommandLine(const std::string& program,
                         const std::string& sentence)
    : app_(std::make_unique<CLI::App>(sentence, program)) {
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::Add(const std::string& name, const std::string& sentence,
                         const std::string& example) {
  CLI::App* command = app_->add_subcommand(name, sentence);
  command->footer(absl::StrCat("Example:\n", example));
  return Command(command, &outcome_);
}

void CommandLine::Renamed(const std::string& old, const std::string& name) {
  renamed_[old] = name;
}

int CommandLine::Run(int argc, char** argv) {
  const auto renamed = argc < 2 ? renamed_.end() : renamed_.find(argv[1]);
  if (renamed != renamed_.end()) {
    std::cerr << app_->get_name() << ": the command '" << renamed->first
              << "' is now called '" << renamed->second << "'\n";
    argv[1] = renamed->second.data();
  }
  if (UnknownCommand(*app_, argc, argv)) return kBadInput;
  try {  // the library throws
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : kBadInput;
  }
  return ExitCode(outcome_);
}

}  // namespace banyan
