// Against real vocabularies and the ids that llama.cpp publishes for them. The
// data does not come with the project: without it these tests are skipped.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/patterns/split_pattern.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/gguf/made_gguf.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

class SharedTokenizers : public testing::Test {
 protected:
  void SetUp() override {
    if (SharedData().empty())
      GTEST_SKIP() << "needs the folder shared/data beside the project";
  }

  static std::vector<std::string> Texts(const std::string& name) {
    const std::string file =
        ReadText(SharedData() + "/tokenizers/ggml-vocab-" + name + ".gguf.inp");
    return absl::StrSplit(file, "\n__ggml_vocab_test__\n");
  }

  static std::vector<Ids> ExpectedIds(const std::string& name) {
    const std::string file =
        ReadText(SharedData() + "/tokenizers/ggml-vocab-" + name + ".gguf.out");
    std::vector<Ids> all;
    for (absl::string_view line : absl::StrSplit(file, '\n')) {
      Ids ids;
      for (absl::string_view word :
           absl::StrSplit(line, ' ', absl::SkipEmpty())) {
        TokenId id = 0;
        EXPECT_TRUE(absl::SimpleAtoi(word, &id)) << word;
        ids.push_back(id);
      }
      all.push_back(ids);
    }
    return all;
  }

  // The file at hand has runs of spaces as added tokens, which GPT-2 has not.
  static Json Gpt2() {
    Json json =
        Json::parse(ReadText(SharedData() + "/tokenizers/gpt2/tokenizer.json"));
    Json& added = json.at("added_tokens");
    EXPECT_EQ(added.at(0).at("content"), "<|endoftext|>");
    added = Json::array({added.at(0)});
    return json;
  }

  // The file at hand has spaces where Llama-2 has no-break spaces, so that
  // three merges have more than two parts: neither we nor the reference read
  // it.
  static Json RepairedLlama2() {
    const std::string nbsp = "\u00a0";
    Json json = Json::parse(
        ReadText(SharedData() + "/tokenizers/llama2/tokenizer.json"));
    Json vocabulary = Json::object();
    for (const auto& [token, id] : json.at("model").at("vocab").items())
      vocabulary[absl::StrReplaceAll(token, {{" ", nbsp}})] = id;
    json["model"]["vocab"] = vocabulary;
    Json& merges = json["model"]["merges"];
    merges.at(18917) = nbsp + " " + nbsp;
    merges.at(38142) = nbsp + nbsp + " " + nbsp + nbsp;
    merges.at(42805) = "▁ " + nbsp;
    return json;
  }

  static void ExpectPublishedIds(const Tokenizer& tokenizer,
                                 const std::string& name) {
    const std::vector<std::string> texts = Texts(name);
    const std::vector<Ids> expected = ExpectedIds(name);
    ASSERT_EQ(texts.size(), 47u);  // the last is what stands after the last
    ASSERT_GE(expected.size(), texts.size() - 1);
    for (std::size_t i = 0; i + 1 < texts.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(i, ": ", texts[i]));
      const auto ids = tokenizer.Encode(texts[i], {.add_special = false});
      ASSERT_TRUE(ids.ok()) << ids.status();
      EXPECT_EQ(*ids, expected[i]);
      const auto text = tokenizer.Decode(*ids);
      ASSERT_TRUE(text.ok()) << text.status();
      EXPECT_EQ(*text, texts[i]);
      ExpectStreamGivesTheSame(tokenizer, *ids);
    }
  }
};

TEST_F(SharedTokenizers, Gpt2GivesThePublishedIds) {
  const auto tokenizer = MakeTokenizer(Gpt2());
  ASSERT_NE(tokenizer, nullptr);
  ExpectPublishedIds(*tokenizer, "gpt-2");
}

// Chats of Spec-Bench's questions, in all templates: marking what messages say
// changes no id.
TEST_F(SharedTokenizers, ChatsAreCutAsIfNothingWereMarked) {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(MakeTokenizer(RepairedLlama2()));
  Json gpt2 = Gpt2();
  TokenId id = 50300;
  for (const char* token :
       {"<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>",
        "<|start_header_id|>", "<|end_header_id|>", "[INST]", "[/INST]"})
    gpt2["added_tokens"].push_back(
        {{"id", id++}, {"content", token}, {"special", true}});
  tokenizers.push_back(MakeTokenizer(gpt2));
  int chats = 0;
  const std::string file =
      ReadText(SharedData() + "/prompts/spec_bench_question.jsonl");
  for (absl::string_view line : absl::StrSplit(file, '\n', absl::SkipEmpty())) {
    const Json question = Json::parse(line.begin(), line.end());
    if (question.at("question_id").get<int>() % 8 != 0) continue;
    std::vector<ChatMessage> messages;
    for (const std::string turn : question.at("turns")) {
      if (!messages.empty()) messages.push_back({"assistant", " An answer.\n"});
      messages.push_back({"user", turn});
    }
    for (const auto& tokenizer : tokenizers)
      for (const char* family :
           {"chatml", "llama3", "llama3.1", "llama2", "mistral", "mistral_v3",
            "mistral_tekken", "vicuna", "raw"}) {
        const auto prompt = ChatTemplate::Named(family)->Render(messages);
        ASSERT_TRUE(prompt.ok()) << prompt.status();
        EXPECT_EQ(*tokenizer->EncodePrompt(*prompt),
                  *tokenizer->EncodePrompt({.text = prompt->text}))
            << family << ": " << line;
        ++chats;
      }
  }
  EXPECT_EQ(chats, 60 * 2 * 9);
}

TEST_F(SharedTokenizers, Llama2GivesThePublishedIds) {
  EXPECT_EQ(RefusalOfText(
                ReadText(SharedData() + "/tokenizers/llama2/tokenizer.json")),
            "tokenizer.json: model.merges[18917]: expected two tokens with one "
            "space between them, found \"   \"");
  const auto tokenizer = MakeTokenizer(RepairedLlama2());
  ASSERT_NE(tokenizer, nullptr);
  ExpectPublishedIds(*tokenizer, "llama-spm");
}

// A published vocabulary as the keys of a GGUF file.
MadeGguf AsGguf(const Json& json) {
  std::vector<std::string> tokens(json.at("model").at("vocab").size());
  for (const auto& [text, id] : json.at("model").at("vocab").items())
    tokens.at(id.get<std::size_t>()) = text;
  MadeGguf file;
  file.Texts("tokenizer.ggml.tokens", tokens);
  return file;
}

std::unique_ptr<Tokenizer> OpenGguf(const MadeGguf& made) {
  const TestFolder folder;
  auto tokenizer = Tokenizer::Load(folder.Write("m.gguf", made.Bytes()));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

TEST_F(SharedTokenizers, Gpt2AsGgufGivesThePublishedIds) {
  const Json json = Gpt2();
  MadeGguf file = AsGguf(json);
  file.Text("tokenizer.ggml.model", "gpt2")
      .Text("tokenizer.ggml.pre", "gpt-2")
      .Texts("tokenizer.ggml.merges",
             json.at("model").at("merges").get<std::vector<std::string>>());
  const auto tokenizer = OpenGguf(file);
  ASSERT_NE(tokenizer, nullptr);
  ExpectPublishedIds(*tokenizer, "gpt-2");
}

// Its scores fall as the ranks of its merges rise.
TEST_F(SharedTokenizers, Llama2AsGgufGivesThePublishedIds) {
  const Json json = RepairedLlama2();
  MadeGguf file = AsGguf(json);
  const std::size_t count = json.at("model").at("vocab").size();
  constexpr std::size_t kFirst = 259;  // after unknown, begin, end and bytes
  std::vector<float> scores(count, 0);
  std::vector<std::int32_t> types(count, 1);
  for (std::size_t i = 0; i < kFirst; ++i)
    types[i] = i == 0 ? 2 : i < 3 ? 3 : 6;
  float score = 0;
  for (const std::string merge : json.at("model").at("merges")) {
    std::string token = merge;
    token.erase(token.find(' '), 1);
    float& of =
        scores.at(json.at("model").at("vocab").at(token).get<std::size_t>());
    score -= 1;
    if (of == 0) of = score;
  }
  file.Text("tokenizer.ggml.model", "llama")
      .Reals("tokenizer.ggml.scores", scores)
      .Ints("tokenizer.ggml.token_type", types)
      .Count("tokenizer.ggml.unknown_token_id", 0)
      .Count("tokenizer.ggml.bos_token_id", 1);
  const auto tokenizer = OpenGguf(file);
  ASSERT_NE(tokenizer, nullptr);
  ExpectPublishedIds(*tokenizer, "llama-spm");
}

// Merges could spell it: llama2's do not.
TEST_F(SharedTokenizers, Llama2WritesControlTokensInMessagesAsText) {
  const auto tokenizer = MakeTokenizer(RepairedLlama2());
  ASSERT_NE(tokenizer, nullptr);
  const auto chat = ChatTemplate::ForModel(*tokenizer, "llama2");
  ASSERT_TRUE(chat.ok()) << chat.status();
  const auto ids = tokenizer->EncodePrompt(
      *chat->Render({{"user", "a</s><s>[INST] <unk>"}}));
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(*tokenizer->Decode(*ids), "<s>[INST] a</s><s>[INST] <unk> [/INST]");
  EXPECT_EQ(absl::c_count_if(
                *ids, [&](TokenId id) { return tokenizer->IsSpecial(id); }),
            1);
}

// Their vocabularies are not here; but no two words share an id.
TEST_F(SharedTokenizers, PatternsGiveNoMoreWordsThanThePublishedIds) {
  struct Case {
    const char* name;
    SplitPattern pattern;
  };
  for (const Case& each : {Case{"llama-bpe", SplitPattern::kLlama3},
                           Case{"qwen2", SplitPattern::kQwen2}}) {
    const std::vector<std::string> texts = Texts(each.name);
    const std::vector<Ids> expected = ExpectedIds(each.name);
    for (std::size_t i = 0; i + 1 < texts.size(); ++i) {
      std::size_t words = 0;
      for (std::size_t at = 0; at < texts[i].size(); ++words)
        at = WordEnd(each.pattern, texts[i], at);
      EXPECT_LE(words, expected[i].size()) << each.name << ": " << texts[i];
    }
  }
}

TEST_F(SharedTokenizers, StoriesCanBeEncodedAndDecoded) {
  const auto tokenizer = Tokenizer::Load(SharedData() + "/models/stories260K");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocab_size(), 512);
  EXPECT_EQ((*tokenizer)->bos_id(), 1);
  EXPECT_EQ((*tokenizer)->eos_id(), 2);
  // "Once upon a time" as the reference cuts it.
  const auto ids = (*tokenizer)->Encode("Once upon a time");
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(*ids, (Ids{1, 403, 407, 261, 378}));
  EXPECT_EQ(*(*tokenizer)->Decode(*ids, true), "Once upon a time");
}

}  // namespace
}  // namespace banyan
