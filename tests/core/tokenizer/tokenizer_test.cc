#include "core/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "core/base/token.h"
#include "gmock/gmock.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

using testing::HasSubstr;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TokenizerConfig Config(const std::string& text) {
  const auto config = ParseTokenizerConfig(text, "tokenizer_config.json");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(TokenizerConfig());
}

Ids EncodeWith(const std::string& config, const std::string& text) {
  const auto tokenizer = Tokenizer::FromJson(SmallTokenizer().dump(),
                                             "tokenizer.json", Config(config));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  if (!tokenizer.ok()) return {};
  return (*tokenizer)->Encode(text).value_or(Ids());
}

TEST(Tokenizer, KnowsItsTokens) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  EXPECT_EQ(tokenizer->vocab_size(), 259);
  EXPECT_EQ(*tokenizer->TokenText(258), "ab");
  EXPECT_EQ(*tokenizer->TokenText(256), "<s>");
  EXPECT_EQ(*tokenizer->TokenText(' '), "Ġ");
  EXPECT_EQ(tokenizer->FindToken("</s>"), 257);
  EXPECT_EQ(tokenizer->FindToken("ab"), 258);
  EXPECT_EQ(tokenizer->FindToken("abc"), std::nullopt);
  EXPECT_TRUE(tokenizer->IsSpecial(256));
  EXPECT_FALSE(tokenizer->IsSpecial(258));
}

TEST(TokenizerDeathTest, RefusesToTellOfAnIdWithoutTokenWhetherItIsSpecial) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  for (TokenId id : {-1, 259})
    EXPECT_DEATH(tokenizer->IsSpecial(id), "the id has a token");
}

TEST(Tokenizer, AddsAndParsesSpecialTokensOnlyIfAsked) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  EXPECT_EQ(*tokenizer->Encode("ab</s>"), (Ids{256, 258, 257}));
  EXPECT_EQ(*tokenizer->Encode("ab</s>", {.add_special = false}),
            (Ids{258, 257}));
  EXPECT_EQ(*tokenizer->Encode("ab</s>", {.parse_special = false}),
            (Ids{256, 258, '<', '/', 's', '>'}));
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  for (const char* text : {"ab\xff", "ab\xc3", "ab\xed\xa0\x80", "ab\xc0\x80"})
    EXPECT_EQ(Message(tokenizer->Encode(text).status()),
              "the text is not UTF-8 at byte 2");
}

TEST(Tokenizer, RefusesACharacterItCannotWrite) {
  Json json = SmallTokenizer();
  json["pre_tokenizer"] = nullptr;
  const auto tokenizer = MakeTokenizer(json);
  EXPECT_THAT(Message(tokenizer->Encode("abж").status()),
              HasSubstr("cannot write the character 'ж'"));
}

TEST(Tokenizer, NamesAByteThatItsVocabularyLacks) {
  Json json = SmallTokenizer();
  json["model"]["vocab"].erase("Ġ");
  json["model"]["vocab"].erase("Ð");
  const auto tokenizer = MakeTokenizer(json);
  EXPECT_EQ(Message(tokenizer->Encode("ab ab").status()),
            "the tokenizer cannot write the byte 0x20: its vocabulary has "
            "neither 'Ġ', which stands for it, nor a token for the unknown");
  EXPECT_EQ(Message(tokenizer->Encode("ж").status()),
            "the tokenizer cannot write the byte 0xD0: its vocabulary has "
            "neither 'Ð', which stands for it, nor a token for the unknown");
}

TEST(Tokenizer, RefusesIdsWithoutToken) {
  Json json = SmallTokenizer();
  json["model"]["vocab"]["far"] = 300;
  const auto tokenizer = MakeTokenizer(json);
  EXPECT_EQ(Message(tokenizer->Decode({301}).status()),
            "token id 301 is out of range; expected [0, 301)");
  EXPECT_EQ(Message(tokenizer->Decode({-1}).status()),
            "token id -1 is out of range; expected [0, 301)");
  EXPECT_EQ(Message(tokenizer->TokenText(299).status()),
            "token id 299 has no token in the vocabulary");
}

TEST(Tokenizer, DoesNotDoubleTheBeginningOfAPrompt) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  EXPECT_EQ(*tokenizer->EncodePrompt({.text = "<s>ab"}), (Ids{256, 258}));
  EXPECT_EQ(*tokenizer->EncodePrompt({.text = "ab"}), (Ids{256, 258}));
  EXPECT_EQ(*tokenizer->EncodePrompt({}), Ids{256});
  EXPECT_EQ(*tokenizer->EncodePrompt({.text = "<s><s>"}), (Ids{256, 256}));
}

// Of a class that transformers writes the post-processor anew for.
std::string Llama(const std::string& keys) {
  return R"({"tokenizer_class": "LlamaTokenizer", "bos_token": "</s>",
             "eos_token": {"content": "<s>"})" +
         keys + "}";
}

TEST(Tokenizer, LetsTheConfigurationSayWhatGoesAroundAText) {
  EXPECT_EQ(EncodeWith(Llama(""), "ab"), (Ids{256, 258}));
  EXPECT_EQ(EncodeWith(Llama(R"(, "add_bos_token": false)"), "ab"), Ids{258});
  EXPECT_EQ(EncodeWith(Llama(R"(, "add_bos_token": true)"), "ab"),
            (Ids{257, 258}));
  EXPECT_EQ(EncodeWith(Llama(R"(, "add_eos_token": true)"), "ab"),
            (Ids{257, 258, 256}));
  EXPECT_EQ(EncodeWith(Llama(R"(, "add_eos_token": null)"), "ab"),
            (Ids{256, 258}));
}

TEST(Tokenizer, AddsTokensByTheConfigurationForTheClassesThatDo) {
  const auto ids = [](const std::string& name, const std::string& key) {
    return EncodeWith(R"({"bos_token": "</s>", "eos_token": "</s>", ")" + key +
                          R"(": false, "tokenizer_class": )" + name + "}",
                      "ab");
  };
  for (const char* name :
       {R"("LlamaTokenizer")", R"("LlamaTokenizerFast")",
        R"("CodeLlamaTokenizer")", R"("GemmaTokenizerFast")",
        R"("CohereTokenizerFast")", R"("GPTNeoXTokenizerFast")"}) {
    EXPECT_EQ(ids(name, "add_bos_token"), Ids{258}) << name;
    const bool adds = std::string(name) != R"("GPTNeoXTokenizerFast")";
    EXPECT_EQ(ids(name, "add_eos_token"), adds ? (Ids{257, 258}) : Ids{258})
        << name;
  }
  for (const char* name :
       {R"("PreTrainedTokenizerFast")", R"("GPT2Tokenizer")",
        R"("Qwen2TokenizerFast")", R"("TokenizersBackend")", "null"})
    EXPECT_EQ(ids(name, "add_bos_token"), (Ids{256, 258})) << name;
}

TEST(Tokenizer, RefusesToAddATokenThatDoesNotExist) {
  const auto tokenizer = Tokenizer::FromJson(
      SmallTokenizer().dump(), "tokenizer.json",
      Config(R"({"tokenizer_class": "GemmaTokenizer", "bos_token": "<bos>",
                 "add_eos_token": false})"));
  EXPECT_EQ(Message(tokenizer.status()),
            "tokenizer_config.json: its tokenizer_class adds bos_token to a "
            "text, and bos_token is no token of the vocabulary");
}

TEST(Tokenizer, ReadsTheChatTemplateInEachOfItsForms) {
  EXPECT_EQ(Config(R"({"chat_template": "x"})").chat_template, "x");
  EXPECT_EQ(Config(R"({"chat_template": null})").chat_template, "");
  EXPECT_EQ(Config(R"({"chat_template": [
                       {"name": "tools", "template": "a"},
                       {"name": "default", "template": "b"}]})")
                .chat_template,
            "b");
  EXPECT_EQ(
      Message(
          ParseTokenizerConfig(R"({"chat_template": 3})", "c.json").status()),
      "c.json: chat_template: expected a list, found 3");
}

TEST(Tokenizer, LoadsADirectory) {
  const std::string dir = testing::TempDir() + "/tokenizer_test_model";
  std::filesystem::remove_all(dir);
  EXPECT_EQ(Message(Tokenizer::Load(dir).status()),
            dir + "/tokenizer.json: No such file or directory");
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/tokenizer.json") << SmallTokenizer().dump();
  const auto alone = Tokenizer::Load(dir);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ((*alone)->bos_id(), std::nullopt);
  std::ofstream(dir + "/tokenizer_config.json")
      << R"({"bos_token": "<s>", "chat_template": "old"})";
  std::ofstream(dir + "/chat_template.jinja") << "new";
  const auto whole = Tokenizer::Load(dir);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)->bos_id(), 256);
  EXPECT_EQ((*whole)->chat_template(), "new");
}

// Before "b" and "c" could merge, at rank 1, "c" has become "cd". What is at
// that place now, "b" and "cd", waits for its own rank, after "a" and "b".
TEST(Tokenizer, MergesByTheRankOfThePairThatIsThereNow) {
  const auto tokenizer = MakeTokenizer(Json::parse(R"({"model": {
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "cd": 4, "bc": 5, "ab": 6,
                "bcd": 7},
      "merges": ["c d", "b c", "a b", "b cd"]}})"));
  EXPECT_EQ(*tokenizer->Encode("abcd"), (Ids{6, 4}));
  EXPECT_EQ(*tokenizer->Encode("bcd"), Ids{7});
}

TEST(Tokenizer, PrependsTheFirstMarkAtTheStartOfTheTextOnly) {
  const auto tokenizer = MakeTokenizer(Json::parse(R"({
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": "x"}, "behavior": "Isolated"},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}]},
      "model": {"vocab": {"a": 0, "x": 1, "▁": 2}, "merges": []}})"));
  EXPECT_EQ(*tokenizer->Encode("axa"), (Ids{2, 0, 1, 0}));
  EXPECT_EQ(*tokenizer->Encode("xa"), (Ids{2, 1, 0}));
}

// A merge a pair and a search for the next best would be 10^11 steps here.
TEST(Tokenizer, MergesLongWordsInLessThanQuadraticTime) {
  Json json = SmallTokenizer();
  std::string token = "ab";
  for (int id = 300; id < 310; ++id) {
    json["model"]["merges"].push_back(token + " " + token);
    token += token;
    json["model"]["vocab"][token] = id;
  }
  const auto tokenizer = MakeTokenizer(json);
  std::string text;
  for (int i = 0; i < 1 << 19; ++i) text += "ab";
  EXPECT_EQ(*tokenizer->Encode(text, {.add_special = false}), Ids(1 << 9, 309));
  // White space, and tokens that are found and refused, are not read again.
  EXPECT_EQ(tokenizer->Encode(std::string(1 << 20, ' '))->size(),
            (1u << 20) + 1);
}

TEST(StreamDecoder, HoldsBackCharactersThatAreNotWhole) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  StreamDecoder stream(*tokenizer);
  EXPECT_EQ(*stream.Push('h'), "h");
  EXPECT_EQ(*stream.Push(0xF0), "");
  EXPECT_EQ(*stream.Push(0x9F), "");
  EXPECT_EQ(*stream.Push(0x8C), "");
  EXPECT_EQ(*stream.Push(0xB3), "🌳");
  EXPECT_EQ(*stream.Push(0xC3), "");
  EXPECT_EQ(*stream.Push(258), "\uFFFDab");
  EXPECT_EQ(*stream.Push(0xE6), "");
  EXPECT_EQ(stream.Finish(), "\uFFFD");
}

TEST(StreamDecoder, GoesOnAfterAnIdWithoutToken) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  StreamDecoder stream(*tokenizer);
  EXPECT_EQ(*stream.Push(0xC3), "");
  EXPECT_FALSE(stream.Push(1000).ok());
  EXPECT_EQ(*stream.Push(0xA9), "é");
}

TEST(StreamDecoder, LeavesSpecialTokensOutIfAsked) {
  const auto tokenizer = MakeTokenizer(SmallTokenizer());
  StreamDecoder stream(*tokenizer, true);
  EXPECT_EQ(*stream.Push(256), "");
  EXPECT_EQ(*stream.Push(258), "ab");
}

TEST(StreamDecoder, StripsTheSpaceOnlyAtTheStartOfTheText) {
  Json json = Json::parse(R"({
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"vocab": {"▁a": 0, "▁": 1, "<0xC3>": 2, "<0xA9>": 3},
              "merges": []}})");
  const auto tokenizer = MakeTokenizer(json);
  StreamDecoder stream(*tokenizer);
  EXPECT_EQ(*stream.Push(1), "");
  EXPECT_EQ(*stream.Push(0), " a");
  EXPECT_EQ(*stream.Push(0), " a");
  // A run of bytes waits for its end: one that is wrong spoils all.
  EXPECT_EQ(*stream.Push(2), "");
  EXPECT_EQ(*stream.Push(3), "");
  EXPECT_EQ(*stream.Push(0), "é a");
  EXPECT_EQ(*stream.Push(2), "");
  EXPECT_EQ(*stream.Push(3), "");
  EXPECT_EQ(*stream.Push(2), "");
  EXPECT_EQ(stream.Finish(), "\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace banyan
