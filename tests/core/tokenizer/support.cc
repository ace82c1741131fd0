#include "tests/core/tokenizer/support.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/base/common.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/steps/both_ways.h"

namespace banyan {

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json SmallTokenizer() {
  Json json = Json::parse(R"({
    "added_tokens": [
      {"id": 256, "content": "<s>", "special": true},
      {"id": 257, "content": "</s>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {
      "type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [256],
                                 "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "merges": ["a b"], "vocab": {"ab": 258}}
  })");
  for (int byte = 0; byte < 256; ++byte)
    json["model"]["vocab"]
        [BytesToCharacters(std::string(1, static_cast<char>(byte)))] = byte;
  return json;
}

std::unique_ptr<Tokenizer> MakeTokenizer(const Json& json) {
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
      Tokenizer::FromJson(json.dump(), "tokenizer.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

std::string Refusal(const Json& json) { return RefusalOfText(json.dump()); }

std::string RefusalOfText(const std::string& text) {
  const auto tokenizer = Tokenizer::FromJson(text, "tokenizer.json");
  EXPECT_FALSE(tokenizer.ok());
  return std::string(tokenizer.status().message());
}

std::string SharedData() {
  const std::string folder = "../shared/data";
  return std::filesystem::is_directory(folder) ? folder : "";
}

void ExpectStreamGivesTheSame(const Tokenizer& tokenizer, const Ids& ids) {
  for (const bool skips : {false, true}) {
    const auto whole = tokenizer.Decode(ids, skips);
    ASSERT_TRUE(whole.ok()) << whole.status();
    StreamDecoder stream(tokenizer, skips);
    std::string text;
    for (const TokenId id : ids) {
      const auto more = stream.Push(id);
      ASSERT_TRUE(more.ok()) << more.status();
      text += *more;
      EXPECT_EQ(FindInvalidUtf8(text), std::string::npos)
          << "a push gave a part of a character";
      EXPECT_TRUE(absl::StartsWith(*whole, text))
          << "text was given that the whole has not: " << text << " of "
          << *whole;
    }
    EXPECT_EQ(text + stream.Finish(), *whole);
  }
}

}  // namespace banyan
