// `banyan text tokenize` as a user meets it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/terminal/columns.h"
#include "gmock/gmock.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string output;  // both streams
};

// Runs the command with `input`, on the small tokenizer.
class TextTokenize : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/tokenize_" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(dir_);
    std::ofstream(dir_ + "/tokenizer.json") << SmallTokenizer().dump();
  }

  Outcome Run(const std::string& arguments, const std::string& input) {
    std::ofstream(dir_ + "/input", std::ios::binary) << input;
    return RunShell(ShellWord(BANYAN_PROGRAM) + " text tokenize --model " +
                    ShellWord(dir_) + " " + arguments + " < " +
                    ShellWord(dir_ + "/input") + " 2>&1");
  }

  static Outcome RunShell(const std::string& command) {
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> buffer;
    while (const std::size_t read =
               std::fread(buffer.data(), 1, buffer.size(), pipe))
      outcome.output.append(buffer.data(), read);
    const int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }

  std::string dir_;
};

TEST_F(TextTokenize, PrintsIdsOnOneLine) {
  const Outcome outcome = Run("", "ab\n</s>");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, "256 258 10 257\n");
  EXPECT_EQ(Run("--no-special", "ab<s>").output, "258 60 115 62\n");
  EXPECT_EQ(Run("--no-special", "").output, "\n");
}

TEST_F(TextTokenize, GivesTheTextBackToTheByte) {
  const std::string text = std::string("a\0b\r\n é\n\n", 11);
  const Outcome ids = Run("", text);
  const Outcome back = Run("--decode --no-special", ids.output);
  EXPECT_EQ(back.code, 0);
  EXPECT_EQ(back.output, text);
  EXPECT_EQ(Run("--decode", "256,258\n257").output, "<s>ab</s>");
}

TEST_F(TextTokenize, PrintsJson) {
  const Outcome outcome = Run("--json", "ab ");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(json.at("ids"), (Ids{256, 258, 32}));
  EXPECT_EQ(json.at("tokens"), Json({"<s>", "ab", "Ġ"}));
  EXPECT_EQ(json.at("text"), "ab ");
}

TEST_F(TextTokenize, TakesATextALine) {
  EXPECT_EQ(Run("--lines", "ab\n\n</s>ab\r\n").output,
            "256 258\n256\n256 257 258 13\n");
  EXPECT_EQ(Run("--lines --no-special", "ab\n\nab").output, "258\n\n258\n");
  EXPECT_EQ(Run("--lines", "").output, "");
  const Outcome json = Run("--lines --json", "ab\nb");
  EXPECT_EQ(json.code, 0);
  const std::size_t end = json.output.find('\n');
  EXPECT_EQ(Json::parse(json.output.substr(0, end)).at("ids"), (Ids{256, 258}));
  EXPECT_EQ(Json::parse(json.output.substr(end)).at("text"), "b");
}

TEST_F(TextTokenize, TakesAListOfIdsALine) {
  EXPECT_EQ(Run("--lines --decode", "258 258\n\n97,98").output, "abab\n\nab\n");
  EXPECT_EQ(Run("--lines --decode", "258\n97 10 98").output,
            "ab\nbanyan: standard input: line 2: the text of these ids has "
            "lines of its own; --json writes them on one\n");
  EXPECT_THAT(Run("--lines --decode --json", "97 10 98").output,
              HasSubstr(R"("text":"a\nb")"));
}

TEST_F(TextTokenize, NamesTheLineThatIsWrong) {
  const Outcome text = Run("--lines", "ab\na\xff\nb\n");
  EXPECT_EQ(text.code, 2);
  EXPECT_EQ(text.output,
            "256 258\nbanyan: standard input: line 2: the text is not UTF-8 at "
            "byte 1\n");
  EXPECT_THAT(Run("--lines --decode", "1\n\n1 2 x").output,
              HasSubstr("standard input: line 3: word 3: expected a token id"));
}

// The second line is sent when the first has been answered.
TEST_F(TextTokenize, AnswersALineAsSoonAsItIsRead) {
  const std::string script =
      "coproc P { " + ShellWord(BANYAN_PROGRAM) +
      " text tokenize --lines --model " + ShellWord(dir_) +
      "; }; for text in ab b; do echo $text >&${P[1]}; "
      "read -t 60 ids <&${P[0]} || exit 1; echo \"<$ids>\"; done";
  EXPECT_EQ(RunShell("bash -c " + ShellWord(script)).output,
            "<256 258>\n<256 98>\n");
}

TEST_F(TextTokenize, SaysWhatIsWrong) {
  const Outcome word = Run("--decode", "1 x2");
  EXPECT_EQ(word.code, 2);
  EXPECT_EQ(word.output,
            "banyan: standard input: word 2: expected a token id, found "
            "'x2'\n");
  EXPECT_THAT(Run("--decode", "4711").output, HasSubstr("out of range"));
  EXPECT_THAT(Run("", "a\xff").output, HasSubstr("not UTF-8 at byte 1"));
  std::filesystem::remove(dir_ + "/tokenizer.json");
  const Outcome missing = Run("", "a");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.output,
              HasSubstr("tokenizer.json: No such file or directory"));
}

TEST_F(TextTokenize, ExplainsItselfWithExamples) {
  const Outcome outcome = Run("--help", "");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("banyan text tokenize --model"));
}

}  // namespace
}  // namespace banyan
