// The commands on a trained model: karpathy/tinyllamas' stories260K, converted,
// in a folder beside the project. Without that folder these tests are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Stories : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_ + "/model.safetensors"))
      GTEST_SKIP() << folder_ << " is not there";
  }

  std::string Command(const std::string& name) const {
    return name + " --model " + folder_ + " ";
  }
  // Greedy, after "Once upon a time".
  std::string Greedy() const {
    return Command("generate") + "--prompt 'Once upon a time' --temperature 0 ";
  }

  // Tests run in the project's root.
  const std::string folder_ = "../shared/data/models/stories260K";
};

// What the model's page shows for `./run ... -t 0.0`.
std::string Published(const std::string& page) {
  const std::string before = "-t 0.0\n";
  const std::size_t from = page.find(before) + before.size();
  return page.substr(from, page.find("\n```", from) - from);
}

// 256 steps after the begin token: four of the prompt, 252 generated.
constexpr char kSteps[] = "--max-new-tokens 252 ";

TEST_F(Stories, GreedyTextIsThePublishedOne) {
  std::stringstream page;
  page << std::ifstream(folder_ + "/stories260K.md").rdbuf();
  const std::string published = Published(page.str());
  ASSERT_THAT(published, StartsWith("Once upon a time, there was a little"));
  EXPECT_EQ(published.size(), 565u);
  for (const char* options :
       {"", "--threads 1", "--method configs/methods/plain.yaml",
        "--method configs/methods/self_q8_chain.yaml",
        "--method configs/methods/self_q8_tree.yaml"}) {
    const Outcome outcome = RunProgram(Greedy() + kSteps + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, published + "\n") << options;
  }
}

TEST_F(Stories, EveryMethodGivesThePlainIdsToTheContextLimit) {
  const std::string command =
      Greedy() + "--ignore-eos --max-new-tokens 1000 --json ";
  const nlohmann::json plain = RunForJson(command);
  EXPECT_EQ(plain.at("prompt_ids"), nlohmann::json({1, 403, 407, 261, 378}));
  EXPECT_EQ(plain.at("ids").size(), 508u);
  EXPECT_EQ(plain.at("stop_reason"), "context");
  for (const char* method : {"self_q8_chain", "self_q8_tree"}) {
    const nlohmann::json json =
        RunForJson(command + "--method configs/methods/" + method + ".yaml");
    EXPECT_EQ(json.at("ids"), plain.at("ids")) << method;
    EXPECT_EQ(json.at("text"), plain.at("text")) << method;
    // The copy is the model but for rounding.
    EXPECT_GT(json.at("tokens_per_target_pass"), 4) << method;
  }
}

TEST_F(Stories, TextAndItsIdsScoreAlike) {
  const nlohmann::json text = RunForJson(
      Command("text score") + "--text 'Once upon a time' --json --logits");
  const nlohmann::json ids = RunForJson(
      Command("text score") + "--ids 1,403,407,261,378 --json --logits");
  EXPECT_EQ(text, ids);
  EXPECT_EQ(text.at("tokens").at(1), "\u2581Once");
  // A model of this text is nearly certain of its begin.
  EXPECT_GT(text.at("mean").get<double>(), -0.1);
  EXPECT_EQ(RunForJson(Command("text score") +
                       "--text 'Once upon a time' --no-special --json")
                .at("ids"),
            nlohmann::json({403, 407, 261, 378}));
}

TEST_F(Stories, PrintsTheLikeliestNextTokensWithTheirTexts) {
  const Outcome outcome =
      RunProgram(Command("text score") + "--text 'Once upon a time' --logits");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("<s>"), HasSubstr("\u2581Once  "),
                    HasSubstr("\u2581there  "), HasSubstr("tokens scored")));
}

TEST_F(Stories, ColoursWholePiecesOfText) {
  const Outcome outcome =
      RunProgram(Greedy() +
                 "--max-new-tokens 4 --color always --method "
                 "configs/methods/self_q8_chain.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("\x1b[2mOnce\x1b[0m\x1b[2m upon\x1b[0m"));
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[32m there\x1b[0m"));
}

TEST_F(Stories, PutsThePromptIntoAChat) {
  const std::string command = Greedy() + "--max-new-tokens 3 --json ";
  const nlohmann::json raw = RunForJson(command + "--chat raw");
  const nlohmann::json plain = RunForJson(command);
  EXPECT_EQ(raw.at("chat"), "raw");
  EXPECT_TRUE(plain.at("chat").is_null());
  EXPECT_EQ(raw.at("ids"), plain.at("ids"));
  const nlohmann::json vicuna = RunForJson(command + "--chat vicuna");
  EXPECT_GT(vicuna.at("prompt_ids").size(), raw.at("prompt_ids").size());
  const std::string method =
      WriteTestFile("verifier: {name: match}\nchat_template: vicuna\n");
  const nlohmann::json chosen =
      RunForJson(command + "--method " + method + " --chat");
  EXPECT_EQ(chosen.at("chat"), "vicuna");
  EXPECT_EQ(chosen.at("prompt_ids"), vicuna.at("prompt_ids"));
  struct Case {
    std::string options;
    std::string reason;
  };
  for (const Case& bad : {
           Case{"--chat", "--chat: the model has no chat template"},
           Case{"--chat vicunia", "did you mean 'vicuna'?"},
           Case{"--chat raw --no-special", "does not go with --chat"},
       }) {
    const Outcome outcome = RunProgram(Greedy() + bad.options);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_THAT(outcome.err, HasSubstr(bad.reason));
  }
}

TEST_F(Stories, RefusesTextThatIsNone) {
  const Outcome outcome =
      RunProgram(Command("text score") + "--text \"$(printf 'a\\377')\"");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.err, HasSubstr("--text: the text is not UTF-8"));
}

}  // namespace
}  // namespace banyan
