#include "experiments/commands/shared/command_line.h"

#include <algorithm>
#include <iostream>
#include <limits>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "CLI/Validators.hpp"
#include "absl/strings/strip.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/device/ranks/communicator.h"
#include "core/terminal/columns.h"

namespace banyan {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;
constexpr int kRefuted = 3;  // a claim, by what was recorded
constexpr int kStopped = 4;  // as asked, before all was done

// Where the texts of a list of options begin.
constexpr int kOptionColumn = 26;
constexpr int kCommandColumn = 17;

// The groups of options in a command's help.
constexpr char kOwnOptions[] = "Options";
constexpr char kSharedOptions[] =
    "Options of several commands (explained by `banyan --help`)";

bool IsMany(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

// "--rounds INT", and "at least 1" of the values that it takes.
struct OptionWords {
  explicit OptionWords(const CLI::Option& option) {
    const bool positional = option.get_positional();
    name = option.get_name(positional, true);
    if (option.get_type_size() == 0) return;  // a flag
    const std::pair<std::string, std::string> type =
        absl::StrSplit(option.get_type_name(), absl::MaxSplits(':', 1));
    if (!positional) absl::StrAppend(&name, " ", type.first);
    if (IsMany(option)) absl::StrAppend(&name, " ...");
    values = type.second;
  }

  std::string name;
  std::string values;
};

HelpRow RowOf(const CLI::Option& option) {
  OptionWords words(option);
  std::vector<std::string> notes;
  if (!words.values.empty()) notes.push_back(words.values);
  if (option.get_required()) notes.emplace_back("required");
  const std::string written = option.get_default_str();
  absl::string_view fallback = written;
  // A list is "[1,2]".
  if (IsMany(option) && absl::ConsumePrefix(&fallback, "["))
    absl::ConsumeSuffix(&fallback, "]");
  if (!fallback.empty()) notes.push_back(absl::StrCat("default ", fallback));
  std::string text = option.get_description();
  if (!notes.empty())
    absl::StrAppend(&text, " [", absl::StrJoin(notes, "; "), "]");
  return {std::move(words.name), std::move(text)};
}

std::string OptionList(const CLI::App& app, const std::string& heading,
                       const std::function<bool(const CLI::Option&)>& wanted) {
  std::vector<HelpRow> rows;
  for (const CLI::Option* option : app.get_options())
    if (wanted(*option)) rows.push_back(RowOf(*option));
  return HelpList(heading, rows, kOptionColumn);
}

// "Usage: banyan run [OPTIONS] FILE".
std::string Usage(const CLI::App& app, const std::string& name) {
  std::string usage = absl::StrCat("Usage: ", name, " [OPTIONS]");
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string word =
        absl::StrCat(option->get_name(true), IsMany(*option) ? "..." : "");
    absl::StrAppend(&usage, " ",
                    option->get_required() ? word : "[" + word + "]");
  }
  if (!app.get_subcommands({}).empty()) absl::StrAppend(&usage, " COMMAND");
  return HelpParagraph(usage);
}

// "text " of the family `banyan text`; "" of the program.
std::string PrefixOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? "" : absl::StrCat(app.get_name(), " ");
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

CommandOption& CommandOption::ShowDefault(const std::string& text) {
  option_->default_str(text);
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
  option_->check(CLI::IsMember(words).description(Alternatives(words)));
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

CommandOption& CommandOption::Shared(const std::string& explanation) {
  option_->group(kSharedOptions);
  const std::string name = OptionWords(*option_).name;
  for (const HelpRow& row : *shared_)
    if (row.name == name) return *this;
  shared_->push_back({name, explanation});
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
  return {option, shared_};
}

CommandOption Command::Flag(const std::string& name, bool* value,
                            const std::string& help) {
  return {app_->add_flag(name, *value, help), shared_};
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
  app_->callback([name = name_, on_ranks = on_ranks_, outcome = outcome_,
                  texts = texts_, call = std::move(call)] {
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
                         const std::string& sentence,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(sentence, program)) {
  app_->require_subcommand(1);
  app_->set_help_flag("-h,--help", "Print this help.");
  app_->set_version_flag("--version", version, "Print version and build.");
  // Subcommands take it over.
  app_->formatter_fn(
      [this](const CLI::App* app, const std::string& name,
             CLI::AppFormatMode /*mode*/) { return Help(*app, name); });
}

CommandLine::~CommandLine() = default;

Command CommandLine::Add(const CommandHelp& help) {
  listed_.push_back({group_, {help.name, help.sentence}});
  const std::vector<std::string> words = absl::StrSplit(help.name, ' ');
  CLI::App* parent = app_.get();
  if (words.size() > 1) {
    CLI::App*& family = families_[words.front()];
    if (family == nullptr) {
      family = app_->add_subcommand(words.front());
      family->require_subcommand(1);
    }
    parent = family;
  }
  CLI::App* command = parent->add_subcommand(
      words.back(), absl::StrCat(help.sentence, " ", help.more));
  command->footer(absl::StrCat("Example:\n", help.example));
  return {help.name, command, &outcome_, &shared_};
}

void CommandLine::Renamed(const std::string& old, const std::string& name,
                          NewOptions options) {
  renamed_[old] = {name, std::move(options)};
}

std::string CommandLine::List(const CLI::App& app) const {
  const std::string prefix = PrefixOf(app);
  std::vector<std::string> groups;  // in the order of their first commands
  std::map<std::string, std::vector<HelpRow>> rows;
  for (const Listed& listed : listed_) {
    if (!absl::StartsWith(listed.row.name, prefix)) continue;
    std::vector<HelpRow>& group = rows[listed.group];
    if (group.empty()) groups.push_back(listed.group);
    group.push_back(listed.row);
  }
  std::string list;
  for (const std::string& group : groups)
    absl::StrAppend(&list, HelpList(group, rows[group], kCommandColumn));
  return list;
}

std::string CommandLine::Help(const CLI::App& app,
                              const std::string& name) const {
  const auto in_group = [](const std::string& group) {
    return [group](const CLI::Option& option) {
      return !option.get_positional() && option.get_group() == group;
    };
  };
  const std::string head =
      absl::StrCat(HelpParagraph(app.get_description()), Usage(app, name));
  const std::string options =
      OptionList(app, kOwnOptions, in_group(kOwnOptions));
  if (!app.get_subcommands({}).empty())
    return absl::StrCat(
        head, List(app), options,
        app.get_parent() == nullptr
            ? HelpList("Options of several commands", shared_, kOptionColumn)
            : "");
  return absl::StrCat(
      head,
      OptionList(
          app, "Arguments",
          [](const CLI::Option& option) { return option.get_positional(); }),
      options, OptionList(app, kSharedOptions, in_group(kSharedOptions)), "\n",
      app.get_footer(), "\n");
}

// The user's own words, so that the line can be copied.
void CommandLine::TellNewName(int argc, char** argv, const NewName& now) const {
  std::string line = absl::StrCat(ShellWord(argv[0]), " ", now.name);
  for (int i = 2; i < argc; ++i) {
    const auto option = now.options.find(argv[i]);
    const std::string word =
        option == now.options.end() ? std::string(argv[i]) : option->second;
    if (option == now.options.end() || !word.empty())
      absl::StrAppend(&line, " ", ShellWord(word));
  }
  std::cerr << app_->get_name() << ": '" << argv[1] << "' is now '" << now.name
            << "': " << VisibleLines(line) << "\n";
}

std::optional<int> CommandLine::WithoutCommand(int argc, char** argv) const {
  const CLI::App* app = app_.get();
  for (int i = 1;; ++i) {
    const std::vector<const CLI::App*> commands = app->get_subcommands({});
    if (commands.empty()) return std::nullopt;
    if (i >= argc) {
      std::cout << Usage(*app,
                         absl::StrCat(app_->get_name(), " ", PrefixOf(*app)))
                << List(*app) << "\n"
                << HelpParagraph(
                       "`banyan COMMAND --help` explains a command, `banyan "
                       "--help` the options that several commands have.");
      return ExitCode(absl::OkStatus());
    }
    if (argv[i][0] == '-') return std::nullopt;
    const auto named = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* command) {
                                      return command->get_name() == argv[i];
                                    });
    if (named == commands.end()) {
      const std::string prefix = PrefixOf(*app);
      std::vector<std::string> names;
      for (const CLI::App* command : commands)
        names.push_back(prefix + command->get_name());
      const std::vector<absl::string_view> known(names.begin(), names.end());
      std::cerr << app_->get_name() << ": "
                << UnknownName("command", prefix + argv[i], known) << "\n";
      return kBadInput;
    }
    app = *named;
  }
}

int CommandLine::Run(int argc, char** argv) {
  if (argc > 1)
    if (const auto renamed = renamed_.find(argv[1]);
        renamed != renamed_.end()) {
      TellNewName(argc, argv, renamed->second);
      return kBadInput;
    }
  if (const std::optional<int> code = WithoutCommand(argc, argv)) return *code;
  try {  // the library throws
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : kBadInput;
  }
  return ExitCode(outcome_);
}

}  // namespace banyan
