// The prompts of experiments/workloads: what their README promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/base/common.h"
#include "core/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

// Tests run in the project's root.
constexpr char kFolder[] = "experiments/workloads/";
constexpr char kTarget[] = "models/pycode-target";
constexpr int kContext = 1024;  // of the target
constexpr int kAnswer = 128;    // tokens that an answer may have
constexpr char kChats[] = "turns";

struct Promised {
  const char* file;
  std::set<std::string> kinds;
  int prompts;  // at least, of each kind
  std::size_t shortest;
  std::size_t longest;  // in bytes, all turns together
  bool ascii = true;
};

void PrintTo(const Promised& promised, std::ostream* out) {
  *out << promised.file;
}

std::vector<Promised> Files() {
  return {{"chat.jsonl",
           {"code", "extraction", "math", "question", "reasoning", "summary",
            "translation", "writing"},
           9,
           100,
           1800,
           /*ascii=*/false},
          {"chat_held_out.jsonl",
           {"code", "extraction", "math", "question", "reasoning", "summary",
            "translation", "writing"},
           3,
           60,
           600,
           /*ascii=*/false},
          {"pycode.jsonl", {"continue", "edit", "signature"}, 42, 80, 1100},
          {"pyrepeat.jsonl",
           {"cases", "edit", "quote", "table", "template", kChats},
           14,
           300,
           1500}};
}

struct Prompt {
  std::string id;
  std::string kind;
  std::vector<std::string> turns;

  std::string text() const { return absl::StrJoin(turns, ""); }
};

bool IsTexts(const nlohmann::json& json) {
  return json.is_array() &&
         std::all_of(json.begin(), json.end(), [](const nlohmann::json& turn) {
           return turn.is_string();
         });
}

// An object of id, kind and prompt, or of turns instead of a prompt.
bool IsPrompt(const nlohmann::json& json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("id") ||
      !json.contains("kind") || !json.at("id").is_string() ||
      !json.at("kind").is_string())
    return false;
  return json.contains("prompt")
             ? json.at("prompt").is_string()
             : json.contains("turns") && IsTexts(json.at("turns"));
}

// Every line must be a prompt; one that is not fails the test that reads.
std::vector<Prompt> ReadPrompts(absl::string_view name) {
  std::ifstream file(absl::StrCat(kFolder, name));
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<Prompt> prompts;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!IsPrompt(json)) {
      ADD_FAILURE() << "not an object of id, kind and prompt or turns: "
                    << line;
      continue;
    }
    Prompt prompt = {json.at("id").get<std::string>(),
                     json.at("kind").get<std::string>(),
                     {}};
    if (json.contains("turns"))
      prompt.turns = json.at("turns").get<std::vector<std::string>>();
    else
      prompt.turns = {json.at("prompt").get<std::string>()};
    prompts.push_back(prompt);
  }
  return prompts;
}

class Workload : public testing::TestWithParam<Promised> {
 protected:
  std::vector<Prompt> Prompts() const { return ReadPrompts(GetParam().file); }
};

INSTANTIATE_TEST_SUITE_P(
    Shipped, Workload, testing::ValuesIn(Files()), [](const auto& promised) {
      return absl::StrReplaceAll(promised.param.file, {{".", "_"}});
    });

TEST_P(Workload, HasEnoughPromptsOfEachKind) {
  std::map<std::string, int> counts;
  for (const Prompt& prompt : Prompts()) ++counts[prompt.kind];
  std::set<std::string> kinds;
  for (const auto& [kind, count] : counts) {
    EXPECT_GE(count, GetParam().prompts) << kind;
    kinds.insert(kind);
  }
  EXPECT_EQ(kinds, GetParam().kinds);
}

// So no two ids are equal.
TEST_P(Workload, CountsTheIdsOfEachKindInTheOrderOfTheFile) {
  std::string kind;
  std::set<std::string> kinds;
  int number = 0;
  for (const Prompt& prompt : Prompts()) {
    number = prompt.kind == kind ? number + 1 : 1;
    kind = prompt.kind;
    EXPECT_EQ(kinds.insert(kind).second, number == 1)
        << prompt.id << " stands apart from its kind";
    EXPECT_EQ(prompt.id,
              absl::StrCat(kind, "-", absl::Dec(number, absl::kZeroPad3)));
  }
}

TEST_P(Workload, IsPlainTextOfModestLength) {
  for (const Prompt& prompt : Prompts()) {
    const std::string text = prompt.text();
    EXPECT_GE(text.size(), GetParam().shortest) << prompt.id;
    EXPECT_LE(text.size(), GetParam().longest) << prompt.id;
    // Neither tabs nor carriage returns.
    const bool ascii = GetParam().ascii;
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [ascii](char c) {
      return c == '\n' || (c >= ' ' && c <= '~') ||
             (!ascii && static_cast<unsigned char>(c) >= 0x80);
    })) << prompt.id;
    for (const std::string& turn : prompt.turns)
      EXPECT_FALSE(absl::StrContains(turn + "\n", " \n")) << prompt.id;
  }
}

// All of `size` characters in a row, with blanks collapsed.
std::vector<std::string> Runs(std::string text, std::size_t size) {
  absl::RemoveExtraAsciiWhitespace(&text);
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::vector<std::string> runs;
  for (std::size_t at = 0; at + size <= text.size(); ++at)
    runs.push_back(text.substr(at, size));
  return runs;
}

// Of all files. Equal prompts share a run, too: none is as short as one.
TEST(Workloads, ShareNoLongRunBetweenTwoPrompts) {
  constexpr std::size_t kRun = 60;
  std::unordered_map<std::string, std::string> first;  // run to prompt
  for (const Promised& promised : Files())
    for (const Prompt& prompt : ReadPrompts(promised.file)) {
      const std::string name = absl::StrCat(promised.file, " ", prompt.id);
      for (const std::string& run : Runs(prompt.text(), kRun))
        ASSERT_EQ(first.emplace(run, name).first->second, name) << run;
    }
}

TEST(ChatWorkload, HasFifteenChatsOfTwoTurns) {
  int chats = 0;
  for (const Prompt& prompt : ReadPrompts("chat.jsonl")) {
    EXPECT_LE(prompt.turns.size(), 2U) << prompt.id;
    if (prompt.turns.size() == 2) ++chats;
  }
  EXPECT_EQ(chats, 15);
}

TEST(RepeatingWorkload, HasTurnsInChatsAlone) {
  for (const Prompt& prompt : ReadPrompts("pyrepeat.jsonl"))
    EXPECT_EQ(prompt.turns.size() > 1, prompt.kind == kChats) << prompt.id;
}

// After a bare line's end the target's tokens cannot indent.
TEST(RepeatingWorkload, NeverStopsAtALinesEnd) {
  for (const Prompt& prompt : ReadPrompts("pyrepeat.jsonl"))
    for (const std::string& turn : prompt.turns)
      EXPECT_FALSE(absl::EndsWith(turn, "\n")) << prompt.id;
}

// An answer may stop in the middle of a line.
TEST(RepeatingWorkload, HasChatsWhoseLaterTurnsBeginALine) {
  for (const Prompt& prompt : ReadPrompts("pyrepeat.jsonl")) {
    if (prompt.kind != kChats) continue;
    EXPECT_GE(prompt.turns.size(), 2U) << prompt.id;
    EXPECT_LE(prompt.turns.size(), 3U) << prompt.id;
    for (std::size_t i = 1; i < prompt.turns.size(); ++i)
      EXPECT_TRUE(absl::StartsWith(prompt.turns[i], "\n")) << prompt.id;
  }
}

TEST(RepeatingWorkload, HasChatsWhoseLaterTurnsQuoteEarlierOnes) {
  constexpr std::size_t kQuote = 16;
  for (const Prompt& prompt : ReadPrompts("pyrepeat.jsonl")) {
    std::set<std::string> said;
    for (const std::string& turn : prompt.turns) {
      const std::vector<std::string> runs = Runs(turn, kQuote);
      EXPECT_TRUE(said.empty() || std::any_of(runs.begin(), runs.end(),
                                              [&said](const std::string& run) {
                                                return said.contains(run);
                                              }))
          << prompt.id << ":" << turn;
      said.insert(runs.begin(), runs.end());
    }
  }
}

TEST(RepeatingWorkload, FitsTheShippedTargetWithItsAnswers) {
  const auto tokenizer = Tokenizer::Load(kTarget);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  for (const Prompt& prompt : ReadPrompts("pyrepeat.jsonl")) {
    const auto ids = (*tokenizer)->Encode(prompt.text());
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_LE(ids->size() + prompt.turns.size() * kAnswer, kContext)
        << prompt.id;
  }
}

// By kind, as the report of the experiment says.
double TokensPerPass(const std::string& records, const std::string& kind) {
  const Outcome report =
      RunProgram("report --format csv --metrics tokens_per_pass --kind " +
                 kind + " " + records);
  EXPECT_EQ(report.code, 0) << report.output;
  constexpr absl::string_view kRow =
      "copy,copy,pycode-target,0,true,tokens_per_pass,,";
  for (absl::string_view line : absl::StrSplit(report.out, '\n'))
    if (absl::ConsumePrefix(&line, kRow)) {
      double tokens = 0;
      const std::string value(line.substr(0, line.find(',')));
      EXPECT_TRUE(absl::SimpleAtod(value, &tokens)) << value;
      return tokens;
    }
  ADD_FAILURE() << "no tokens per pass in: " << report.out;
  return 0;
}

// What the file is for.
TEST(RepeatingWorkload, IsWhereCopyingDraftsForTheShippedTarget) {
  const auto here = [](const std::string& path) {
    return std::filesystem::absolute(path).string();
  };
  const TestFolder folder;
  const std::string experiment = folder.Write(
      "copying.yaml",
      absl::StrCat(
          "question: What is copied?\n", "target: {directory: ", here(kTarget),
          "}\n", "workload: {file: ", here(kFolder), "pyrepeat.jsonl, ",
          "chat: raw}\n", "limits: {max_new_tokens: 64}\n",
          "sampling: {temperature: 0}\n", "methods:\n",
          "  copy: {preset: ", here("configs/methods/copy.yaml"), "}\n"));
  const std::string records = folder.path() + "/out";
  const Outcome run =
      RunProgram("run " + experiment + " --threads 1 --out " + records);
  ASSERT_EQ(run.code, 0) << run.output;
  const Promised promised = Files().back();
  // A chat is one prompt.
  const std::size_t prompts = ReadPrompts(promised.file).size();
  EXPECT_TRUE(
      absl::StrContains(absl::StrReplaceAll(run.out, {{"\n", " "}}),
                        absl::StrCat("(", prompts, " prompts, this machine)")))
      << run.out;
  for (const std::string& kind : promised.kinds)
    EXPECT_GT(TokensPerPass(records, kind), 3) << kind;
}

}  // namespace
}  // namespace banyan
