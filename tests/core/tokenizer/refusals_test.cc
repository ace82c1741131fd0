// What a tokenizer.json may not say, each with its place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/core/tokenizer/support.h"

namespace banyan {
namespace {

using testing::StartsWith;

struct RefusalCase {
  const char* pointer;  // what is replaced in the small tokenizer.json
  const char* value;
  const char* message;  // how the refusal goes on after the file
};

void ExpectRefused(const std::vector<RefusalCase>& cases) {
  for (const RefusalCase& each : cases) {
    SCOPED_TRACE(std::string(each.pointer) + " = " + each.value);
    Json json = SmallTokenizer();
    json[Json::json_pointer(each.pointer)] = Json::parse(each.value);
    EXPECT_THAT(Refusal(json),
                StartsWith(std::string("tokenizer.json: ") + each.message));
  }
}

TEST(TokenizerRefusals, NameThePlaceOfWhatIsNotJson) {
  EXPECT_THAT(RefusalOfText("{\n  \"model\": }"),
              StartsWith("tokenizer.json:2:12: not valid JSON: "));
  EXPECT_THAT(RefusalOfText(""), StartsWith("tokenizer.json:1:1: "));
  EXPECT_THAT(RefusalOfText("{\"a\": \"\xff\"}"),
              StartsWith("tokenizer.json:1:8: not valid JSON: "));
  EXPECT_THAT(RefusalOfText("{\"a\": {\"b\": 1,\n\"b\": 2}}"),
              StartsWith("tokenizer.json:2:1: key 'b' is given twice"));
  EXPECT_THAT(RefusalOfText("[]"),
              StartsWith("tokenizer.json: expected an object, found a list"));
}

TEST(TokenizerRefusals, NameThePlaceOfWhatNestsTooDeep) {
  const std::string deep(1 << 20, '[');
  EXPECT_EQ(RefusalOfText(deep), "tokenizer.json:1:65: more than 64 levels");
  EXPECT_EQ(RefusalOfText("{\"[[\\\"[\": [\n" + deep),
            "tokenizer.json:2:63: more than 64 levels");
}

TEST(TokenizerRefusals, OfTheWholeFile) {
  ExpectRefused({
      {"/modell", "1", "modell: unknown key 'modell'; did you mean 'model'?"},
      {"/model", "null", "model: expected an object, found null"},
  });
}

TEST(TokenizerRefusals, OfModels) {
  ExpectRefused({
      {"/model/type", "\"Unigram\"",
       "model.type: expected BPE, found \"Unigram\""},
      {"/model/type", "\"WordPiece\"", "model.type: expected BPE"},
      {"/model/dropout", "0.1", "model.dropout: expected null or 0"},
      {"/model/end_of_word_suffix", "\"</w>\"",
       "model.end_of_word_suffix: expected null or an empty text"},
      {"/model/continuing_subword_prefix", "\"##\"",
       "model.continuing_subword_prefix: expected null"},
      {"/model/unk_token", "\"?!\"",
       "model.unk_token: expected a token of the vocabulary, found \"?!\""},
      {"/model/surprise", "1", "model.surprise: unknown key"},
      {"/model/vocab", "[]", "model.vocab: expected an object of token ids"},
      {"/model/vocab/a", "-1", "model.vocab.a: expected a token id in [0, "},
      {"/model/vocab/a", "1.5", "model.vocab.a: expected a token id"},
      {"/model/vocab/a", "1048576", "model.vocab.a: expected a token id"},
      {"/model/vocab/zz", "1",
       "model.vocab.ā: id 1 is that of the token 'zz' already"},
      {"/model/merges", "null", "model.merges: expected a list, found null"},
      {"/model/merges/0", "\"ab\"", "model.merges[0]: expected two tokens"},
      {"/model/merges/0", "\"a b c\"", "model.merges[0]: expected two tokens"},
      {"/model/merges/0", "[\"a\"]", "model.merges[0]: expected a text 'a b'"},
      {"/model/merges/0", "\"a c\"",
       "model.merges[0]: 'ac' is not in the vocabulary"},
      {"/model/merges/0", "[\"zz\", \"c\"]",
       "model.merges[0]: 'zz' is not in the vocabulary"},
  });
}

TEST(TokenizerRefusals, OfNormalizers) {
  ExpectRefused({
      {"/normalizer", "{\"type\": \"Lowercase\"}",
       "normalizer.type: expected Sequence, Prepend, "},
      {"/normalizer", "{\"type\": \"NFC\", \"x\": 1}",
       "normalizer.x: unknown key 'x'"},
      {"/normalizer",
       R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""})",
       "normalizer.pattern: expected a text to replace"},
      {"/normalizer",
       R"({"type": "Replace", "pattern": {"String": ""}, "content": ""})",
       "normalizer.pattern.String: expected a text that is not empty"},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [
         {"type": "Replace", "pattern": {"String": "a"},
          "content": "aaaaaaaa"},
         {"type": "Replace", "pattern": {"String": "a"},
          "content": "aaaaaaaaa"}]})",
       "normalizer.normalizers[1]: makes a text 72 times as long"},
      {"/normalizer", "{\"type\": \"Strip\", \"strip_left\": true}",
       "normalizer.strip_right: expected true or false, found no such key"},
  });
}

TEST(TokenizerRefusals, OfPreTokenizers) {
  ExpectRefused({
      {"/pre_tokenizer", "{\"type\": \"Whitespace\"}",
       "pre_tokenizer.type: expected Sequence, ByteLevel, Split, "},
      {"/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [
         {"type": "Split", "pattern": {"Regex": "\\d(a"},
          "behavior": "Isolated", "invert": false}]})",
       "pre_tokenizer.pretokenizers[0].pattern.Regex: byte 2, at '(a': the "},
      {"/pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a",
                             "String": 1}, "behavior": "Merged"})",
       "pre_tokenizer.behavior: expected Removed, Isolated, "},
      {"/pre_tokenizer", R"({"type": "Split", "pattern": "a",
                             "behavior": "Isolated"})",
       "pre_tokenizer.pattern: expected an object, found \"a\""},
      {"/pre_tokenizer", R"({"type": "Split", "pattern": {},
                             "behavior": "Isolated"})",
       "pre_tokenizer.pattern.String: expected a text, found no such key"},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "▁▁"})",
       "pre_tokenizer.replacement: expected one character, found \"▁▁\""},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "▁",
                             "prepend_scheme": "last"})",
       "pre_tokenizer.prepend_scheme: expected first, always or never"},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "▁",
                             "prepend_scheme": "first",
                             "add_prefix_space": false})",
       "pre_tokenizer.add_prefix_space: false contradicts prepend_scheme"},
      {"/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [
         {"type": "ByteLevel", "add_prefix_space": false},
         {"type": "ByteLevel", "add_prefix_space": false}]})",
       "pre_tokenizer.pretokenizers[1]: expected one ByteLevel"},
  });
}

TEST(TokenizerRefusals, OfPostProcessors) {
  ExpectRefused({
      {"/post_processor", "{\"type\": \"BertProcessing\"}",
       "post_processor.type: expected Sequence, "},
      {"/post_processor/single/1/Sequence/id", "\"B\"",
       "post_processor.single[1].Sequence.id: expected A"},
      {"/post_processor/single/0/SpecialToken/id", "\"<x>\"",
       "post_processor.single[0].SpecialToken.id: expected one of "},
      {"/post_processor/single", "[]",
       "post_processor.single: lacks the sequence A"},
      {"/post_processor/special_tokens/<s>/ids/0", "4711",
       "post_processor: id 4711 has no token"},
  });
}

TEST(TokenizerRefusals, OfMoreAroundATextThanAnyModelHas) {
  const Json begin = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  Json json = SmallTokenizer();
  Json& single = json["post_processor"]["single"];
  for (int i = 1; i < 256; ++i) single.push_back(begin);
  EXPECT_NE(MakeTokenizer(json), nullptr);
  single.push_back(begin);
  EXPECT_EQ(Refusal(json),
            "tokenizer.json: post_processor.single: expected at most 257 "
            "items, found 258");
  json = SmallTokenizer();
  Json& ids = json["post_processor"]["special_tokens"]["<s>"]["ids"];
  ids = std::vector<int>(257, 256);
  EXPECT_EQ(Refusal(json),
            "tokenizer.json: post_processor.single: expected at most 256 "
            "tokens around a text, found 257");
  ids = std::vector<int>(129, 256);
  const Json half = json["post_processor"];
  json["post_processor"] = {{"type", "Sequence"}, {"processors", {half, half}}};
  EXPECT_EQ(Refusal(json),
            "tokenizer.json: post_processor.processors[1]: expected at most "
            "256 tokens around a text, found 258");
}

TEST(TokenizerRefusals, OfDecoders) {
  ExpectRefused({
      {"/decoder", "{\"type\": \"WordPiece\"}",
       "decoder.type: expected Sequence, ByteLevel, "},
      {"/decoder",
       R"({"type": "Strip", "content": " ", "start": 0, "stop": 1})",
       "decoder.stop: expected 0, found 1"},
      {"/decoder", R"({"type": "Sequence", "decoders": [
         {"type": "Fuse"}, {"type": "ByteFallback"}]})",
       "decoder.decoders[1]: ByteFallback works on tokens"},
      {"/decoder", R"({"type": "Sequence", "decoders": [
         {"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ab"},
                            "content": "c"}]})",
       "decoder.decoders[1].pattern: expected one character after"},
  });
}

TEST(TokenizerRefusals, OfAddedTokens) {
  ExpectRefused({
      {"/added_tokens/0/content", "\"\"",
       "added_tokens[0].content: expected a text that is not empty"},
      {"/added_tokens/1/content", "\"<s>\"",
       "added_tokens[1].content: '<s>' is added twice"},
      {"/added_tokens/1/id", "256", "added_tokens[1].id: id 256 is added "},
      {"/added_tokens/0/id", "-1", "added_tokens[0].id: expected a token id"},
      {"/added_tokens/0/id", "258",
       "added_tokens[0].id: id 258 is that of 'ab' in the vocabulary"},
      {"/added_tokens/0/content", "\"ab\"",
       "added_tokens[0].id: expected 258, the id of 'ab'"},
      {"/added_tokens/0/lstrip", "1",
       "added_tokens[0].lstrip: expected true or false, found 1"},
      {"/added_tokens/0/stripped", "true",
       "added_tokens[0].stripped: unknown key 'stripped'"},
  });
}

// A text is searched for them at every place.
TEST(TokenizerRefusals, OfAnAddedTokenOfTooManyBytes) {
  Json json = SmallTokenizer();
  json["added_tokens"][0]["content"] = std::string(1025, 'a');
  EXPECT_EQ(Refusal(json),
            "tokenizer.json: added_tokens[0].content: expected at most 1024 "
            "bytes, found 1025");
  json = SmallTokenizer();
  json["added_tokens"].push_back(
      {{"id", 300}, {"content", std::string(1024, 'a')}});
  EXPECT_NE(MakeTokenizer(json), nullptr);
}

}  // namespace
}  // namespace banyan
