// banyan make index, with the tokenizer of a model that ships.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/text/corpus_index.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/few_bytes.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Tests run in the project's root.
constexpr char kModel[] = "models/pycode-draft-1";
constexpr char kFirst[] = "def double(x):\n    return x + x\n";
constexpr char kSecond[] = "for x in range(3):\n    print(double(x))\n";

std::vector<TokenId> Encoded(const std::string& text) {
  return Tokenizer::Load(kModel)
      .value()
      ->Encode(text, {.add_special = false, .parse_special = false})
      .value();
}

std::string Line(const std::string& text) {
  return nlohmann::json({{"path", "x.py"}, {"text", text}}).dump() + "\n";
}

class MakeIndex : public testing::Test {
 protected:
  std::string Out(const std::string& name = "out") const {
    return folder_.path() + "/" + name;
  }
  std::string Command(const std::string& files,
                      const std::string& out = "out") const {
    return absl::StrCat("make index --model ", kModel, " --out ", Out(out), " ",
                        files);
  }
  std::map<std::string, std::string> FilesOf(const std::string& out) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(Out(out))) {
      const std::string name = entry.path().filename().string();
      files[name] = folder_.Read(out + "/" + name);
    }
    return files;
  }
  // Expects a refusal that leaves no output.
  void ExpectRefused(const std::string& command, const std::string& place,
                     const std::string& reason) const {
    const Outcome outcome = RunProgram(command);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err,
                AllOf(StartsWith("banyan: " + place), HasSubstr(reason)));
    EXPECT_FALSE(std::filesystem::exists(Out()));
  }

  const TestFolder folder_;
};

TEST_F(MakeIndex, FindsTheTextsItWasMadeOf) {
  const std::vector<std::string> texts = {kFirst, "", kSecond,
                                          "x <|endoftext|> y"};
  std::string lines;
  for (std::size_t i = 0; i < 3; ++i) lines += Line(texts[i]);
  const nlohmann::json json =
      RunForJson(Command(folder_.Write("a.jsonl", lines) + " " +
                         folder_.Write("b.txt", texts[3]) + " --json"));
  ASSERT_FALSE(json.is_null());
  const auto index = CorpusIndex::Open(Out());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_TRUE((*index)->CheckSums().ok());
  const auto tokenizer = Tokenizer::Load(kModel).value();
  EXPECT_TRUE((*index)
                  ->CheckFits(NameOfTokens(*tokenizer), tokenizer->vocab_size())
                  .ok());
  std::int64_t tokens = 0;
  for (const std::string& text : texts) {
    const std::vector<TokenId> ids = Encoded(text);
    tokens += static_cast<std::int64_t>(ids.size());
    if (text.empty()) continue;
    EXPECT_EQ((*index)->Find(ids)->count(), 1) << text;
  }
  // From one document into the next.
  EXPECT_EQ(
      (*index)->Find({Encoded(kFirst).back(), Encoded(kSecond)[0]})->count(),
      0);
  EXPECT_EQ(json.at("out"), Out());
  EXPECT_EQ(json.at("documents"), 4);
  EXPECT_EQ(json.at("tokens"), tokens);
  EXPECT_EQ(json.at("shards"), 1);
  EXPECT_EQ(json.at("shards_before"), 0);
  EXPECT_EQ(json.at("bytes"), 6 * tokens + 2 * 3);
  EXPECT_EQ(json.at("tokenizer"), NameOfTokens(*tokenizer));
}

TEST_F(MakeIndex, SaysWhatItWroteAndThatItIsWhole) {
  const Outcome outcome =
      RunProgram(Command(folder_.Write("a.py", kFirst) + " --shard-tokens 9"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.err, "");
  const std::size_t tokens = Encoded(kFirst).size();
  ASSERT_EQ((tokens + 7) / 8, 2U);
  const std::string said = absl::StrCat(
      Out(), ": ", tokens, " tokens in 1 document, 2 shards, 0.0 MB\n");
  EXPECT_EQ(outcome.out, said);
  const Outcome check = RunProgram("make index --check " + Out());
  EXPECT_EQ(check.code, 0) << check.output;
  EXPECT_EQ(check.out, said);
  EXPECT_EQ(RunProgram(
                absl::StrCat("make index --model ", kModel, " --check ", Out()))
                .code,
            0);
  std::string bytes = folder_.Read("out/001.suffixes");
  bytes[0] ^= 1;
  folder_.Write("out/001.suffixes", bytes);
  const Outcome changed = RunProgram("make index --check " + Out());
  EXPECT_EQ(changed.code, 2);
  EXPECT_EQ(changed.out, "");
  EXPECT_THAT(changed.err,
              StartsWith("banyan: " + Out() + "/001.suffixes: the file was"));
}

// Killed while it waits for the rest of its texts.
TEST_F(MakeIndex, GoesOnAfterAKillAsIfThereHadBeenNone) {
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines += Line(absl::StrCat(kFirst, "# ", i, "\n"));
  const std::string options = folder_.Write("a.jsonl", lines) +
                              " /dev/stdin --shard-tokens 100 --json ";
  const std::string rest = " <" + folder_.Write("b.txt", kSecond);
  const nlohmann::json whole = RunForJson(Command(options, "whole") + rest);
  ASSERT_FALSE(whole.is_null());
  const int shards = whole.at("shards").get<int>();
  ASSERT_GT(shards, 5);

  const std::string pipe = Out("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome killed = RunProgram(absl::StrCat(
      Command(options), "<", pipe, " & one=$!; exec 9>", pipe,
      "; until grep -A99 shards ", Out(),
      "/building.json 2>&1 | grep -c text_fnv1a | grep -q '^[5-9]'; ",
      "do sleep 0.02; done; kill -9 $one; wait $one; echo code $?"));
  EXPECT_EQ(killed.out, "code 137\n") << killed.output;
  EXPECT_FALSE(std::filesystem::exists(Out("out/index.json")));
  EXPECT_THAT(RunProgram("make index --check " + Out()).err,
              HasSubstr("index.json: the index is not whole yet"));
  // Other texts: nothing is lost by asking.
  EXPECT_THAT(RunProgram(Command(folder_.Write("c.py", kSecond) +
                                 " --shard-tokens 100"))
                  .err,
              HasSubstr("building.json: shards["));
  const nlohmann::json again = RunForJson(Command(options) + rest);
  ASSERT_FALSE(again.is_null());
  EXPECT_GE(again.at("shards_before"), 5);
  EXPECT_EQ(again.at("shards"), shards);
  EXPECT_EQ(again.at("documents"), 61);
  EXPECT_EQ(FilesOf("out"), FilesOf("whole"));
  const Outcome third = RunProgram(Command(options) + rest);
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.err, StartsWith("banyan: " + Out("out/index.json") +
                                    ": the index is "
                                    "whole"));
}

TEST_F(MakeIndex, RefusesFilesThatCannotBeRead) {
  const std::string good = folder_.Write("a.py", kFirst);
  ExpectRefused(Command(good + " no_such_file.txt"),
                "no_such_file.txt: ", "No such file");
  ExpectRefused(Command(folder_.path()), folder_.path() + ": ", "directory");
  const std::string bad = folder_.Write("bad.txt", "x = '\xff'\n");
  ExpectRefused(Command(bad), bad + ": ", "UTF-8");
  const std::string lines =
      folder_.Write("a.jsonl", Line(kFirst) + "{\"path\": \"x\"}\n");
  ExpectRefused(Command(lines), lines + ":2: ", "text: expected a text");
  const std::string empty = folder_.Write("empty.txt", "");
  ExpectRefused(Command(empty), Out() + ": ",
                "expected a text, found no token");
}

TEST_F(MakeIndex, RefusesWhatItWasNotToldOrNeedNot) {
  const std::string file = folder_.Write("a.py", kFirst);
  ExpectRefused("make index", "",
                "expected --model, --out and files, or --check");
  ExpectRefused(absl::StrCat("make index --model ", kModel, " ", file), "",
                "expected --model, --out and files, or --check");
  ExpectRefused(absl::StrCat("make index --check x ", file), "", "no files");
  ExpectRefused("make index --check no_such_index",
                "no_such_index/index.json: ", "No such file");
  ExpectRefused("make index --model no_such_model --out " + Out() + " " + file,
                "no_such_model", "No such file");
  const Outcome small = RunProgram(Command(file + " --shard-tokens 1"));
  EXPECT_EQ(small.code, 2);
  EXPECT_THAT(small.err, HasSubstr("--shard-tokens"));
  EXPECT_FALSE(std::filesystem::exists(Out()));
}

// A full disk is told as the index's, not as a document's.
TEST_F(MakeIndex, NamesWhatCouldNotBeWritten) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += kFirst;
  const std::string file = folder_.Write("a.jsonl", Line(text) + Line(text));
  const auto tokens = static_cast<int>(Encoded(text).size());
  ASSERT_GT(tokens, 1000);
  const FewBytes few(2000);
  const Outcome full =
      RunProgram(Command(absl::StrCat(file, " --shard-tokens ", tokens + 1)));
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.err, "banyan: " + Out("out/000.tokens: File too large\n"));
  EXPECT_FALSE(std::filesystem::exists(Out()));
}

// From text to a draft: the folder is found beside the method's.
TEST_F(MakeIndex, WritesWhatTheDrafterReads) {
  const std::string file = folder_.Write("a.py", kFirst);
  ASSERT_EQ(RunProgram(Command(file)).code, 0);
  const std::string generate = absl::StrCat(
      "generate --model ", kModel,
      " --prompt 'def double(x):' --temperature 0 --max-new-tokens 12 --json ");
  const nlohmann::json plain = RunForJson(generate);
  const std::string method =
      folder_.Write("method.yaml",
                    "models: {texts: {index: out}}\n"
                    "drafters: [{name: rest, index: texts}]\n"
                    "policy: {name: chain, nodes: 3}\n"
                    "verifier: {name: match}\n");
  const nlohmann::json drafted = RunForJson(generate + "--method " + method);
  EXPECT_EQ(drafted.at("ids"), plain.at("ids"));
  EXPECT_GT(drafted.at("rounds").at(0).at("nodes"), 0);
  const Outcome other = RunProgram(
      "generate --model tests/goldens/checkpoints/llama --prompt x --method " +
      method);
  EXPECT_EQ(other.code, 2) << other.output;
  EXPECT_THAT(
      other.err,
      AllOf(HasSubstr("method.yaml:1:25: " + Out("out/index.json") + ": "),
            HasSubstr("the index is of another tokenizer")));
}

}  // namespace
}  // namespace banyan
