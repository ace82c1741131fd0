// The command line in the few words that commands need. One file reads it with
// CLI11, whose headers take longer to compile than most commands.
//
//   Command command = line.Add({.name = "grow",
//                               .sentence = "Pads a small model to ...",
//                               .example = "  banyan grow --model ..."});
//   const auto options = std::make_shared<Options>();
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
#include <utility>
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
  // The help names the default: the value before the parse.
  CommandOption& ShowDefault();
  // The same where the value before the parse does not name it.
  CommandOption& ShowDefault(const std::string& text);
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
  // Other commands have the option too. Their help has its short sentence, the
  // program's help `explanation`, once.
  CommandOption& Shared(const std::string& explanation);

 private:
  friend class Command;
  CommandOption(CLI::Option* option, std::vector<HelpRow>* shared)
      : option_(option), shared_(shared) {}

  CLI::Option* option_;
  std::vector<HelpRow>* shared_;  // of the program's help
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
  CommandOption Flag(const std::string& name, bool* value,
                     const std::string& help);
  // It may run as one of several ranks; others are refused.
  void OnRanks() { on_ranks_ = true; }
  void OnCall(std::function<absl::Status()> call);

 private:
  friend class CommandLine;
  struct TextOption {
    CLI::Option* option;
    bool writes;
  };
  Command(std::string name, CLI::App* app, absl::Status* outcome,
          std::vector<HelpRow>* shared)
      : name_(std::move(name)), app_(app), outcome_(outcome), shared_(shared) {}
  template <typename T>
  static T& Target(T* value) {
    return *value;
  }
  static std::string& Target(OutputPath* output) { return output->path_; }
  static absl::Status CheckOutputs(const std::vector<TextOption>& texts);

  std::string name_;  // "text score"
  CLI::App* app_;
  absl::Status* outcome_;
  std::vector<HelpRow>* shared_;
  bool on_ranks_ = false;
  std::vector<TextOption> texts_;  // those that may be paths
};

// The help of a command.
struct CommandHelp {
  // "check"; or of a family of commands, "text score".
  std::string name;
  // What the command does, in one line of the list of all commands.
  std::string sentence;
  // Sentences that only the command's own help has after that one.
  std::string more = {};
  // Lines of a shell, which a test runs as they are.
  std::string example;
};

class CommandLine {
 public:
  // `version` is the line that --version prints.
  CommandLine(const std::string& program, const std::string& sentence,
              const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // The heading of the commands that are added from here on.
  void Group(const std::string& heading) { group_ = heading; }
  Command Add(const CommandHelp& help);

  // The command `name` was called `old`: a line with the old name is told as it
  // is written now, and not run. Of `options` those are left out of it whose
  // new name is empty, while their values stay.
  using NewOptions = std::map<std::string, std::string>;
  void Renamed(const std::string& old, const std::string& name,
               NewOptions options = {});

  // Calls the command that is named and says what went wrong; lists the
  // commands where none is named. Gives the program's exit code.
  int Run(int argc, char** argv);

 private:
  struct Listed {
    std::string group;
    HelpRow row;
  };

  // The commands of `app`, the program or a family, under their headings.
  std::string List(const CLI::App& app) const;
  std::string Help(const CLI::App& app, const std::string& name) const;
  struct NewName {
    std::string name;
    NewOptions options;
  };
  void TellNewName(int argc, char** argv, const NewName& now) const;
  // The exit code if the line names no command, or one that there is not.
  std::optional<int> WithoutCommand(int argc, char** argv) const;

  std::unique_ptr<CLI::App> app_;
  std::string group_;
  std::vector<Listed> listed_;  // all commands
  std::map<std::string, CLI::App*> families_;
  std::vector<HelpRow> shared_;             // options of several commands
  std::map<std::string, NewName> renamed_;  // by the old name
  absl::Status outcome_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_COMMAND_LINE_H_
