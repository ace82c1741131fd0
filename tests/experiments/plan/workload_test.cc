// The prompts of experiments/workloads: what their README promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

// Tests run in the project's root.
constexpr char kFile[] = "experiments/workloads/pycode.jsonl";

struct Prompt {
  std::string id;
  std::string kind;
  std::string text;
};

bool IsPrompt(const nlohmann::json& json) {
  return json.is_object() && json.size() == 3 && json.contains("id") &&
         json.contains("kind") && json.contains("prompt") &&
         json.at("id").is_string() && json.at("kind").is_string() &&
         json.at("prompt").is_string();
}

// Every line must be a prompt; one that is not fails the test that reads.
std::vector<Prompt> ReadPrompts() {
  std::ifstream file(kFile);
  EXPECT_TRUE(file.is_open()) << kFile;
  std::vector<Prompt> prompts;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!IsPrompt(json)) {
      ADD_FAILURE() << "not an object of id, kind and prompt: " << line;
      continue;
    }
    prompts.push_back({json.at("id").get<std::string>(),
                       json.at("kind").get<std::string>(),
                       json.at("prompt").get<std::string>()});
  }
  return prompts;
}

TEST(Workload, HasEnoughPromptsOfEachKind) {
  const std::vector<Prompt> prompts = ReadPrompts();
  EXPECT_GE(prompts.size(), 126u);
  std::map<std::string, int> counts;
  for (const Prompt& prompt : prompts) ++counts[prompt.kind];
  EXPECT_EQ(counts.size(), 3u);
  for (const char* kind : {"continue", "edit", "signature"})
    EXPECT_GE(counts[kind], 42) << kind;
}

// So no two ids are equal.
TEST(Workload, CountsTheIdsOfEachKindInTheOrderOfTheFile) {
  std::string kind;
  int number = 0;
  for (const Prompt& prompt : ReadPrompts()) {
    EXPECT_LE(kind, prompt.kind) << prompt.id;
    number = prompt.kind == kind ? number + 1 : 1;
    kind = prompt.kind;
    EXPECT_EQ(prompt.id,
              absl::StrCat(kind, "-", absl::Dec(number, absl::kZeroPad3)));
  }
}

TEST(Workload, IsPlainTextOfModestLength) {
  for (const Prompt& prompt : ReadPrompts()) {
    const std::string& text = prompt.text;
    EXPECT_GE(text.size(), 80u) << prompt.id;
    EXPECT_LE(text.size(), 1100u) << prompt.id;
    // Neither tabs nor carriage returns.
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '\n' || (c >= ' ' && c <= '~');
    })) << prompt.id;
    EXPECT_EQ((text + "\n").find(" \n"), std::string::npos) << prompt.id;
  }
}

// Equal prompts share a run, too: none is as short as one.
TEST(Workload, SharesNoLongRunBetweenTwoPrompts) {
  constexpr std::size_t kRun = 60;
  const std::vector<Prompt> prompts = ReadPrompts();
  std::unordered_map<std::string, std::string> first;  // run to id
  for (const Prompt& prompt : prompts)
    for (std::size_t at = 0; at + kRun <= prompt.text.size(); ++at) {
      const std::string run = prompt.text.substr(at, kRun);
      ASSERT_EQ(first.emplace(run, prompt.id).first->second, prompt.id) << run;
    }
}

}  // namespace
}  // namespace banyan
