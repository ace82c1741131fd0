// banyan doctor: the texts that a target writes itself, of a model with a chat
// template.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/made/edited_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A copy of the shipped target, with the letters of ChatML's end of a turn as
// its last token, by which it ends texts.
class ChatTarget {
 public:
  explicit ChatTarget(const std::string& chat_template)
      : model_("models/pycode-target") {
    Edit("tokenizer.json", [](nlohmann::json& json) {
      json["added_tokens"].push_back(
          {{"id", 2047}, {"content", "<|im_end|>"}, {"special", true}});
      nlohmann::json& pairs = json["model"];
      pairs["vocab"].erase("late");  // that token so far
      pairs["merges"].erase(pairs["merges"].size() - 1);
    });
    Edit("tokenizer_config.json",
         [&](nlohmann::json& json) { json["chat_template"] = chat_template; });
    EndBy({2047});
  }
  void EndBy(const std::vector<int>& tokens) const {
    Edit("config.json",
         [&](nlohmann::json& json) { json["eos_token_id"] = tokens; });
  }
  const std::string& path() const { return model_.path(); }
  std::string Command() const {
    return absl::StrCat("doctor --model ", path(), " --drafter ", path(), " ");
  }

 private:
  void Edit(const std::string& file,
            const std::function<void(nlohmann::json& json)>& edit) const {
    nlohmann::json json = nlohmann::json::parse(model_.folder().Read(file));
    edit(json);
    model_.folder().Write(file, json.dump());
  }

  EditedModel model_;
};

constexpr char kChatMl[] = "<|im_start|>user\n<|im_end|>";

// However long its beginning is.
TEST(DoctorTexts, OfAChatEachReach192Tokens) {
  const ChatTarget target(kChatMl);
  const nlohmann::json found =
      RunForJson(target.Command() + "--prompts 8 --json");
  EXPECT_EQ(found.at("places"), 8 * 192) << found;
}

TEST(DoctorTexts, AreRefusedIfTheirBeginningsLeaveLittleToWrite) {
  const ChatTarget target(absl::StrCat(
      "<|im_start|>system\n", std::string(300, '1'), "<|im_end|>", kChatMl));
  const Outcome outcome = RunProgram(target.Command());
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(target.path() +
                              ": chat template chatml begins a text with "),
                    HasSubstr(" tokens, expected at most 96 of 192 "
                              "(--workload gives other texts)")));
}

TEST(DoctorTexts, AreRefusedIfTheChatTemplateIsNotKnown) {
  const ChatTarget target("{{ messages }}");
  const Outcome outcome = RunProgram(target.Command());
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(target.path() +
                              ": the model's chat template is of no known "
                              "family"),
                    HasSubstr("(--workload gives other texts)")));
}

// Also where each text ends early.
TEST(DoctorTexts, LeaveNoProgressOnATerminal) {
  const ChatTarget target(kChatMl);
  std::vector<int> all(2048);
  std::iota(all.begin(), all.end(), 0);
  target.EndBy(all);
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  const std::string name = ptsname(terminal);
  const int open_end = open(name.c_str(), O_RDWR | O_NOCTTY);
  ASSERT_GE(open_end, 0);
  const Outcome outcome =
      RunProgram(absl::StrCat(target.Command(), "--prompts 1 2>", name));
  std::string shown(4096, ' ');
  const ssize_t size = read(terminal, shown.data(), shown.size());
  close(open_end);
  close(terminal);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  ASSERT_GT(size, 0);
  shown.resize(static_cast<std::size_t>(size));
  const std::string wipe = "\r\033[K";
  EXPECT_THAT(shown, StartsWith(wipe + "writing texts, token "));
  EXPECT_THAT(shown, EndsWith(wipe));
  EXPECT_THAT(shown, HasSubstr("/192" + wipe));
}

}  // namespace
}  // namespace banyan
