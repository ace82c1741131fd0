// What the program says of itself: its commands by group, their help, its
// version, and the names that commands no longer have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/commands/commands.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

constexpr char kShared[] =
    "Options of several commands (explained by `banyan --help`)";

// Headings with the names below them, in the order of a help text.
using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;

const Groups& Commands() {
  static const auto& commands = *new Groups{
      {"Experiments", {"check", "run", "report", "compare", "export"}},
      {"Generation", {"generate", "beam"}},
      {"Study",
       {"measure", "tree", "exact", "list", "text tokenize", "text score"}},
      {"Models",
       {"convert", "pack", "grow", "doctor", "make layers", "make counts",
        "make index"}}};
  return commands;
}

std::vector<std::string> Names(const Groups& groups) {
  std::vector<std::string> names;
  for (const auto& group : groups)
    names.insert(names.end(), group.second.begin(), group.second.end());
  return names;
}

// A heading ends with a colon. A name is between two spaces and two others; the
// second line of a sentence gives "".
Groups Listed(const std::string& text) {
  Groups groups;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  ", 0) == 0 && !groups.empty())
      groups.back().second.push_back(line.substr(2, line.find("  ", 2) - 2));
    else if (!line.empty() && line.back() == ':')
      groups.push_back({line.substr(0, line.size() - 1), {}});
  }
  return groups;
}

std::string Help(const std::string& command) {
  const Outcome outcome = RunProgram(command + " --help");
  EXPECT_EQ(outcome.code, 0) << command;
  EXPECT_EQ(outcome.err, "") << command;
  return outcome.out;
}

// The text on one line, however its lines are broken.
std::string OnOneLine(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += word + " ";
  return line;
}

TEST(Help, ListsEachCommandInALineUnderItsGroup) {
  const Outcome alone = RunProgram("");
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_EQ(Listed(alone.out), Commands());
  const std::string help = Help("");
  EXPECT_EQ(Listed(help.substr(0, help.find("\nOptions:\n"))), Commands());
  EXPECT_EQ(Names(Commands()).size(), sizeof(kCommands) / sizeof(CommandRow));
}

TEST(Help, ListsTheCommandsOfAFamily) {
  const std::pair<std::string, Groups> families[] = {
      {"text", {{"Study", {"text tokenize", "text score"}}}},
      {"make", {{"Models", {"make layers", "make counts", "make index"}}}}};
  for (const auto& [family, commands] : families) {
    const Outcome alone = RunProgram(family);
    EXPECT_EQ(alone.code, 0) << family;
    EXPECT_THAT(alone.out, StartsWith("Usage: banyan " + family + " "));
    EXPECT_EQ(Listed(alone.out), commands);
    const std::string help = Help(family);
    EXPECT_EQ(Listed(help.substr(0, help.find("\nOptions:\n"))), commands);
  }
}

TEST(Help, ExplainsEveryCommandWithAnExample) {
  for (const std::string& command : Names(Commands()))
    EXPECT_THAT(Help(command),
                AllOf(HasSubstr("\nUsage: banyan " + command + " [OPTIONS]"),
                      HasSubstr("\nExample:\n  "), EndsWith("\n"),
                      Not(EndsWith("\n\n"))));
}

TEST(Help, FitsEightyColumns) {
  std::vector<std::string> lines = {""};
  for (const std::string& command : Names(Commands()))
    lines.push_back(command + " --help");
  for (const char* line : {"--help", "text", "text --help", "make --help"})
    lines.emplace_back(line);
  for (const std::string& line : lines) {
    std::istringstream help(RunProgram(line).out);
    for (std::string printed; std::getline(help, printed);)
      EXPECT_LE(printed.size(), 80u) << "banyan " << line << "\n" << printed;
  }
}

TEST(Help, NamesDefaultsAndValuesAfterTheSentence) {
  EXPECT_THAT(OnOneLine(Help("measure")),
              AllOf(HasSubstr("[at least 1; default 9] "),
                    HasSubstr("[default 1,2,3,4,6,8,12,16,24,32,48,65] ")));
  EXPECT_THAT(OnOneLine(Help("run")),
              AllOf(HasSubstr("[same or new; default same] "),
                    HasSubstr("The experiment, YAML. [required] "),
                    HasSubstr("Usage: banyan run [OPTIONS] FILE ")));
  EXPECT_THAT(OnOneLine(Help("list")),
              HasSubstr("Usage: banyan list [OPTIONS] [name] "));
}

// Every command has their names and short sentences, the program's help alone
// what they do.
TEST(Help, ExplainsOptionsOfSeveralCommandsOnce) {
  const std::string all = Help("");
  const std::string explained = all.substr(
      std::min(all.size(), all.find("\nOptions of several commands:\n")));
  EXPECT_THAT(explained, HasSubstr("CUDA_VISIBLE_DEVICES"));
  std::set<std::string> shared;
  for (const std::string& command : Names(Commands())) {
    const std::string help = Help(command);
    EXPECT_THAT(help, Not(HasSubstr("CUDA_VISIBLE_DEVICES"))) << command;
    for (const auto& [heading, names] : Listed(help))
      for (const std::string& name : names)
        if (heading == kShared && !name.empty()) shared.insert(name);
  }
  EXPECT_GE(shared.size(), 9u);
  for (const std::string& name : shared)
    EXPECT_THAT(explained, HasSubstr("\n  " + name));
}

TEST(Help, HasADeviceWhereverItHasThreads) {
  std::set<std::string> device;
  std::set<std::string> threads;
  for (const std::string& command : Names(Commands())) {
    const std::string help = Help(command);
    if (help.find("\n  --device ") != help.npos) device.insert(command);
    if (help.find("\n  --threads ") != help.npos) threads.insert(command);
  }
  EXPECT_GE(device.size(), 8u);
  EXPECT_EQ(threads, device);
}

TEST(Help, PrintsTheVersionInALine) {
  const Outcome outcome = RunProgram("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(
      outcome.out,
      MatchesRegex("banyan [0-9]+[.][0-9]+[.][0-9]+ \\(revision [^\n]+, "
                   "[^\n]+, [^\n]+\\)\n"));
}

TEST(Help, TellsTheNewLineOfAnOldName) {
  const std::pair<std::string, std::string> renamed[] = {
      {"law", "exact"},         {"tokenize", "text tokenize"},
      {"score", "text score"},  {"search", "make layers"},
      {"count", "make counts"}, {"index", "make index"},
      {"calibrate", "measure"}, {"fastest", "measure"}};
  std::vector<std::pair<std::string, std::string>> table;
  for (const OldName& row : kOldNames) table.emplace_back(row.old, row.name);
  for (const auto& [old, name] : renamed) {
    EXPECT_THAT(table, Contains(Pair(old, name)));
    const Outcome outcome =
        RunProgram(old + " --model models/smollm2 --text \"it's a\" ''");
    EXPECT_EQ(outcome.code, 2) << old;
    EXPECT_EQ(outcome.out, "") << old;
    EXPECT_THAT(
        outcome.err,
        AllOf(StartsWith("banyan: '" + old + "' is now '" + name + "': "),
              EndsWith(" " + name +
                       " --model models/smollm2 --text 'it'\\''s a' ''\n")));
  }
  for (const auto& [old, name] : table)
    EXPECT_THAT(Names(Commands()), AllOf(Contains(name), Not(Contains(old))));
}

// Options that have another name now, or none.
TEST(Help, TellsTheNewOptionsOfAnOldName) {
  EXPECT_THAT(
      RunProgram("calibrate --timed --model m --method f.yaml --ranks 4").err,
      EndsWith(" measure --model m f.yaml --width 4\n"));
  EXPECT_THAT(RunProgram("fastest --acceptance out/run").err,
              EndsWith(" measure out/run\n"));
}

TEST(Help, TellsALineThatRuns) {
  const std::string told =
      RunProgram("law configs/exact/chain_leviathan.yaml").err;
  const std::string line = told.substr(told.rfind("': ") + 3);
  // Another command of the same shell.
  const Outcome outcome = RunProgram("--version >/dev/null; " + line);
  EXPECT_EQ(outcome.code, 0) << line;
  EXPECT_THAT(outcome.out, HasSubstr("verifier leviathan"));
}

TEST(Help, SuggestsTheNearestCommand) {
  const std::pair<std::string, std::string> misspelt[] = {
      {"exat", "exact"},
      {"text scor --model m", "text score"},
      {"mak index", "make"}};
  for (const auto& [line, nearest] : misspelt) {
    const Outcome outcome = RunProgram(line);
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_THAT(outcome.out, IsEmpty()) << line;
    EXPECT_THAT(outcome.err, HasSubstr("did you mean '" + nearest + "'?"));
  }
}

}  // namespace
}  // namespace banyan
