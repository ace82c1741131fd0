// banyan make counts, with the tokenizer of a model that ships.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/tokenizer/tokenizer.h"
#include "drafters/text/token_counts.h"
#include "experiments/makers/documents.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Tests run in the project's root.
constexpr char kModel[] = "models/pycode-draft-1";
constexpr char kFirst[] = "def double(x):\n    return x + x\n";
constexpr char kSecond[] = "for x in range(3):\n    print(double(x))\n";

int VocabSize() {
  return (*Checkpoint::Open(kModel))->architecture().vocab_size;
}

using Pairs = std::map<std::pair<TokenId, TokenId>, std::int32_t>;

Pairs PairsOf(const TokenCounts& counts) {
  Pairs pairs;
  for (std::size_t t = 0; t + 1 < counts.offsets.size(); ++t)
    for (std::int64_t i = counts.offsets[t]; i < counts.offsets[t + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      pairs[{static_cast<TokenId>(t), counts.tokens[at]}] = counts.counts[at];
    }
  return pairs;
}

// The documents counted one by one.
struct Expected {
  std::vector<std::int64_t> unigram;
  Pairs pairs;
  std::int64_t tokens = 0;
};

Expected Recount(const std::vector<std::string>& documents) {
  const auto tokenizer = Tokenizer::Load(kModel).value();
  Expected expected;
  expected.unigram.resize(static_cast<std::size_t>(VocabSize()));
  for (const std::string& document : documents) {
    const std::vector<TokenId> ids =
        tokenizer
            ->Encode(document, {.add_special = false, .parse_special = false})
            .value();
    expected.tokens += static_cast<std::int64_t>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ++expected.unigram[static_cast<std::size_t>(ids[i])];
      if (i > 0) ++expected.pairs[{ids[i - 1], ids[i]}];
    }
  }
  return expected;
}

std::string Line(const std::string& text) {
  return nlohmann::json({{"path", "x.py"}, {"text", text}}).dump() + "\n";
}

class MakeCounts : public testing::Test {
 protected:
  std::string Out() const { return folder_.path() + "/counts.safetensors"; }
  std::string Command(const std::string& files) const {
    return absl::StrCat("make counts --model ", kModel, " --out ", Out(), " ",
                        files);
  }
  // Counts the files, which hold these documents.
  void ExpectCounts(const std::string& files,
                    const std::vector<std::string>& documents) const {
    const nlohmann::json json = RunForJson(Command(files) + " --json");
    ASSERT_FALSE(json.is_null());
    const Expected expected = Recount(documents);
    EXPECT_EQ(json.at("documents"), documents.size());
    EXPECT_EQ(json.at("tokens"), expected.tokens);
    EXPECT_EQ(json.at("pairs"), expected.pairs.size());
    EXPECT_EQ(json.at("bytes"), std::filesystem::file_size(Out()));
    const absl::StatusOr<TokenCounts> counts =
        ReadTokenCounts(Out(), VocabSize());
    ASSERT_TRUE(counts.ok()) << counts.status();
    EXPECT_EQ(counts->unigram, expected.unigram);
    EXPECT_EQ(PairsOf(*counts), expected.pairs);
  }
  // Expects a refusal that leaves no file.
  void ExpectRefused(const std::string& command, const std::string& place,
                     const std::string& reason) const {
    const Outcome outcome = RunProgram(command);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err,
                AllOf(StartsWith("banyan: " + place), HasSubstr(reason)));
    EXPECT_FALSE(std::filesystem::exists(Out()));
    EXPECT_FALSE(std::filesystem::exists(Out() + ".partial"));
  }
  void ExpectRefusedFile(const std::string& name, const std::string& text,
                         const std::string& line,
                         const std::string& reason) const {
    const std::string path = folder_.Write(name, text);
    ExpectRefused(Command(path), path + line + ": ", reason);
  }

  const TestFolder folder_;
};

TEST_F(MakeCounts, CountsTextsADocumentEach) {
  const std::string files =
      folder_.Write("a.py", kFirst) + " " + folder_.Write("b.txt", kSecond);
  ExpectCounts(files, {kFirst, kSecond});
}

TEST_F(MakeCounts, CountsLinesOfJsonADocumentEach) {
  const std::string lines = Line(kFirst) + Line("") + Line(kSecond);
  ExpectCounts(folder_.Write("c.jsonl", lines), {kFirst, "", kSecond});
  // Without an end of the last line, and beside a text.
  ExpectCounts(folder_.Write("d.jsonl", lines.substr(0, lines.size() - 1)) +
                   " " + folder_.Write("a.py", kFirst),
               {kFirst, "", kSecond, kFirst});
}

TEST_F(MakeCounts, SpecialTokensInATextAreText) {
  ExpectCounts(folder_.Write("a.txt", "x <|endoftext|> y"),
               {"x <|endoftext|> y"});
}

TEST_F(MakeCounts, ReplacesAnOlderFileAndSaysWhatItWrote) {
  folder_.Write("counts.safetensors", "an older file");
  const Outcome outcome = RunProgram(Command(folder_.Write("a.py", kFirst)));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.err, "");
  const Expected expected = Recount({kFirst});
  EXPECT_THAT(outcome.out,
              HasSubstr(absl::StrCat(
                  Out(), ": ", expected.tokens, " tokens in 1 document, ",
                  expected.pairs.size(), " distinct pairs, 0.0 MB")));
  EXPECT_TRUE(ReadTokenCounts(Out(), VocabSize()).ok());
  EXPECT_FALSE(std::filesystem::exists(Out() + ".partial"));
}

TEST_F(MakeCounts, RefusesFilesThatCannotBeRead) {
  const std::string good = folder_.Write("a.py", kFirst);
  ExpectRefused(Command(good + " no_such_file.txt"),
                "no_such_file.txt: ", "No such file");
  ExpectRefused(Command(folder_.path()), folder_.path() + ": ", "directory");
  ExpectRefusedFile("bad.txt", "x = '\xff'\n", "", "UTF-8");
}

TEST_F(MakeCounts, RefusesBrokenLinesWithTheirNumber) {
  const std::string good = Line(kFirst);
  ExpectRefusedFile("a.jsonl", good + "{\"text\": \"x\n", ":2:10",
                    "expected a closing quote");
  ExpectRefusedFile("b.jsonl", good + "\n" + good, ":2:1",
                    "expected a value, found the end");
  ExpectRefusedFile("c.jsonl", good + good + "[1]\n", ":3", "found a list");
  ExpectRefusedFile("d.jsonl", "{\"path\": \"x\"}\n", ":1",
                    "text: expected a text, found no such key");
  ExpectRefusedFile("e.jsonl", "{\"text\": 3}\n", ":1",
                    "text: expected a text, found 3");
  ExpectRefusedFile("f.jsonl", good + "{\"text\": \"\xff\"}\n", ":2:11",
                    "expected UTF-8");
  ExpectRefusedFile("g.jsonl", "{\"text\": \"a\", \"text\": \"b\"}\n", ":1:15",
                    "key 'text' is given twice");
}

TEST_F(MakeCounts, RefusesTextsWithoutATokenBetweenThem) {
  ExpectRefusedFile("a.txt", "", "", "expected a text, found no token");
  ExpectRefusedFile("a.jsonl", "", "", "expected a text, found no token");
}

TEST_F(MakeCounts, RefusesAnOutputThatCannotBeMade) {
  const std::string file = folder_.Write("a.py", kFirst);
  const std::string command =
      absl::StrCat("make counts --model ", kModel, " ", file);
  ExpectRefused(command + " --out no_such_folder/c",
                "no_such_folder/c: ", "No such file");
  ExpectRefused(command + " --out " + folder_.path(), folder_.path() + ": ",
                "expected a file to write, found a directory");
}

TEST_F(MakeCounts, RefusesAModelThatIsNone) {
  const std::string file = folder_.Write("a.py", kFirst);
  ExpectRefused("make counts --model no_such_model --out " + Out() + " " + file,
                "no_such_model", "No such file");
  const Outcome outcome = RunProgram("make counts --model x --out y");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("files"));
}

// From text to a draft: the file is found beside the method's.
TEST_F(MakeCounts, WritesWhatTheDraftersRead) {
  ExpectCounts(folder_.Write("a.py", kFirst), {kFirst});
  const std::string generate = absl::StrCat(
      "generate --model ", kModel,
      " --prompt 'def f(x):' --temperature 0 --max-new-tokens 12 --json ");
  const nlohmann::json plain = RunForJson(generate);
  for (const char* name : {"unigram", "bigram"}) {
    const std::string method = folder_.Write(
        "method.yaml", absl::StrCat("drafters: [{name: ", name,
                                    ", counts: counts.safetensors}]\n"
                                    "policy: {name: chain, nodes: 3}\n"
                                    "verifier: {name: match}\n"));
    const nlohmann::json drafted = RunForJson(generate + "--method " + method);
    EXPECT_EQ(drafted.at("ids"), plain.at("ids")) << name;
    EXPECT_GT(drafted.at("rounds").at(0).at("nodes"), 0) << name;
  }
}

// From text to a drafter with fewer logits, which drafts those tokens alone.
TEST_F(MakeCounts, ListsTheMostFrequentTokensForADrafter) {
  const std::string file = folder_.Write(
      "chats.jsonl", "{\"turns\": [\"def f(x):\", \"    return x\"]}\n");
  const std::string out = folder_.path() + "/vocabulary.json";
  const std::string count =
      absl::StrCat("make counts --model ", kModel, " --out ", out, " --top ");
  const Outcome outcome = RunProgram(count + "12 " + file);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("vocabulary.json: 12 tokens of 2048, "));
  EXPECT_THAT(outcome.out, HasSubstr("in 2 documents"));
  const nlohmann::json list =
      nlohmann::json::parse(folder_.Read("vocabulary.json"));
  const std::vector<int> tokens = list.at("tokens");
  ASSERT_EQ(tokens.size(), 12u);
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  const std::set<int> kept(tokens.begin(), tokens.end());
  const std::string generate = absl::StrCat(
      "generate --model ", kModel,
      " --prompt 'def f(x):' --temperature 0 --max-new-tokens 24 --json ");
  const nlohmann::json plain = RunForJson(generate);
  const auto method = [&](const std::string& more) {
    return folder_.Write(
        "method.yaml",
        absl::StrCat("models: {draft: {directory: ",
                     std::filesystem::absolute(kModel).string(),
                     "}}\ndrafters: [{name: small_model, model: draft", more,
                     "}]\npolicy: {name: chain, nodes: 3}\n"
                     "verifier: {name: match}\n"));
  };
  const std::string trimmed = method(", vocabulary: vocabulary.json");
  const Outcome told = RunProgram(generate + "--method " + trimmed);
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.err, HasSubstr("the draft vocabulary of draft: 12 of 2048 "
                                  "tokens, "));
  const nlohmann::json drafted = nlohmann::json::parse(told.out);
  EXPECT_EQ(drafted.at("ids"), plain.at("ids"));
  EXPECT_GT(drafted.at("rounds").at(0).at("nodes"), 0);
  ExpectRefused(count + "4096 " + file, "--top",
                "expected at most the model's 2048 tokens, found 4096");
}

TEST(TokenCounter, RefusesATokenThatTheModelDoesNotHave) {
  TokenCounter counter(3);
  EXPECT_TRUE(counter.Add({0, 2, 0, 2}).ok());
  for (TokenId token : {3, -1}) {
    const absl::Status status = counter.Add({1, token});
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("expected one of the model's, 0 to 2"));
  }
  const TokenCounts counts = counter.counts();
  EXPECT_THAT(counts.unigram, ElementsAre(2, 0, 2));
  EXPECT_THAT(counts.offsets, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(counts.tokens, ElementsAre(2, 0));
  EXPECT_THAT(counts.counts, ElementsAre(2, 1));
}

}  // namespace
}  // namespace banyan
