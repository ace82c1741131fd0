// The command line in the few words that commands need. One file reads it with
// CLI11, whose headers take longer to compile than most commands.
//
//   const auto options = std::make_shared<Options>();
//   Command command = line.Add("grow", "Writes a checkpoint that ...");
//   command.Option("--out", &options->out, "The folder to write.").Required();
//   command.Flag("--json", &options->json, "Print JSON.");
//   command.OnCall([options] { return Grow(*options); });
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_COMMAND_LINE_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "experiments/commands/shared/output.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace banyan {

// Each of these says more of an option and returns it.
class CommandOption {
 public:
  CommandOption& Required();
  // The help tells the value before the parse.
  CommandOption& ShowDefault();
  // A list is one argument, with commas.
  CommandOption& ByCommas();
  // A list is the option given again and again.
  CommandOption& OneEachTime();
  CommandOption& AtLeast(int least);
  CommandOption& Within(int least, int most);
  CommandOption& OneOf(const std::vector<std::string>& words);
  // An empty value is refused: "expected WHAT, found ''". Without this call
  // WHAT is "a value".
  CommandOption& NotEmpty(const std::string& what);
  // An empty text is a text.
  CommandOption& MayBeEmpty();
  // May be given without a value, which is then "".
  CommandOption& ValueOptional();

 private:
  friend class Command;
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

// What is given must outlive the parse.
class Command {
 public:
  // An OutputPath is held against all text options before the call
  // (CheckOutput).
  using Value =
      std::variant<int*, std::uint64_t*, std::string*, std::optional<int>*,
                   std::optional<double>*, std::optional<std::string>*,
                   std::vector<int>*, std::vector<std::string>*, OutputPath*>;

  // `name` is "--name", or the name of an argument without.
  CommandOption Option(const std::string& name, Value value,
                       const std::string& help);
  void Flag(const std::string& name, bool* value, const std::string& help);
  // It may run as one of several ranks; others are refused.
  void OnRanks() { on_ranks_ = true; }
  void OnCall(std::function<absl::Status()> call);

 private:
  friend class CommandLine;
  struct TextOption {
    CLI::Option* option;
    bool writes;
  };
  Command(CLI::App* app, absl::Status* outcome)
      : app_(app), outcome_(outcome) {}
  template <typename T>
  static T& Target(T* value) {
    return *value;
  }
  static std::string& Target(OutputPath* output) { return output->path_; }
  static absl::Status CheckOutputs(const std::vector<TextOption>& texts);

  CLI::App* app_;
  absl::Status* outcome_;
  bool on_ranks_ = false;
  std::vector<TextOption> texts_;  // those that may be paths
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& sentence);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // Its help ends with the example, lines of a shell, which a test runs as they
  // stand.
  Command Add(const std::string& name, const std::string& sentence,
              const std::string& example);

  // The command `name` was once called `old`: that still works, and is told.
  void Renamed(const std::string& old, const std::string& name);

  // Calls the command that is named and says what went wrong. Gives the
  // program's exit code.
  int Run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::map<std::string, std::string> renamed_;  // by the old name
  absl::Status outcome_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_COMMAND_LINE_H_
