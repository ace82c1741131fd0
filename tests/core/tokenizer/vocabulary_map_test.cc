#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "tests/core/tokenizer/support.h"
#include "tests/support/made/toy_tokenizer.h"

namespace banyan {
namespace {

using Pairs = std::vector<std::pair<TokenId, TokenId>>;

Pairs CommonOf(const VocabularyMap& map) {
  Pairs pairs;
  for (const VocabularyMap::Pair& pair : map.common())
    pairs.emplace_back(pair.target, pair.drafter);
  return pairs;
}

// As sentencepiece writes: a mark for a space, and tokens for bytes.
Json Pieces() {
  Json json = Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "</s>", "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "byte_fallback": true,
              "merges": ["▁ a", "é b"],
              "vocab": {"▁": 1, "a": 2, "▁a": 3, "é": 6, "b": 7, "éb": 8,
                        "<0x61>": 4, "<0xC3>": 5, "▁▁": 9}}
  })");
  return json;
}

TEST(TokenBytes, AreWhatATokenAddsToAText) {
  const auto pieces = MakeTokenizer(Pieces());
  EXPECT_EQ(*pieces->TokenBytes(3), " a");
  EXPECT_EQ(*pieces->TokenBytes(3, true), "a") << "at the start of a text";
  EXPECT_EQ(*pieces->TokenBytes(9, true), " ") << "one space is taken away";
  EXPECT_EQ(*pieces->TokenBytes(4), "a");
  EXPECT_EQ(*pieces->TokenBytes(5), "\xC3");
  EXPECT_EQ(*pieces->TokenBytes(8), "éb");
  EXPECT_FALSE(pieces->TokenBytes(10).ok());
  const auto bytes = MakeTokenizer(SmallTokenizer());
  EXPECT_EQ(*bytes->TokenBytes(0xC3), "\xC3");
  EXPECT_EQ(*bytes->TokenBytes(' '), " ");
  EXPECT_EQ(*bytes->TokenBytes(' ', true), " ");
  EXPECT_EQ(*bytes->TokenBytes(258), "ab");
  Json marks = Pieces();
  marks["decoder"] = {{"type", "Metaspace"},
                      {"replacement", "▁"},
                      {"prepend_scheme", "always"}};
  EXPECT_EQ(*MakeTokenizer(marks)->TokenBytes(3), " a");
  EXPECT_EQ(*MakeTokenizer(marks)->TokenBytes(3, true), "a");
  Json none = SmallTokenizer();
  none["decoder"] = nullptr;
  EXPECT_EQ(*MakeTokenizer(none)->TokenBytes('x'), " x") << "words of a list";
  EXPECT_EQ(*MakeTokenizer(none)->TokenBytes('x', true), "x");
}

// Whatever a tokenizer decodes is the bytes of its tokens.
TEST(TokenBytes, TogetherAreTheText) {
  for (const Json& json : {SmallTokenizer(), Pieces()}) {
    const auto tokenizer = MakeTokenizer(json);
    const std::string text = "a aéb  a";
    const auto ids = tokenizer->Encode(text, {.add_special = false});
    ASSERT_TRUE(ids.ok()) << ids.status();
    std::string bytes;
    for (TokenId id : *ids) bytes += *tokenizer->TokenBytes(id, bytes.empty());
    EXPECT_EQ(bytes, text);
    EXPECT_EQ(bytes, *tokenizer->Decode(*ids));
  }
}

TEST(Spellings, FindTokensByTheirBytes) {
  const Spellings pieces(MakeTokenizer(Pieces()));
  EXPECT_EQ(pieces.Find("a"), 4) << "of two the last";
  EXPECT_EQ(pieces.Find(" a"), 3);
  EXPECT_EQ(pieces.Find("</s>"), std::nullopt) << "it is special";
  EXPECT_EQ(pieces.Find(""), std::nullopt);
  EXPECT_EQ(pieces.BytesOf(0), "");
  EXPECT_EQ(pieces.BytesOf(-1), "");
  EXPECT_EQ(pieces.BytesOf(99), "");
  EXPECT_EQ(pieces.longest(), 3);
  EXPECT_TRUE(pieces.BeginsLonger(" "));
  EXPECT_TRUE(pieces.BeginsLonger("\xC3"));
  EXPECT_FALSE(pieces.BeginsLonger("a")) << "there are two of it, none longer";
  EXPECT_FALSE(pieces.BeginsLonger(" a"));
  EXPECT_FALSE(pieces.BeginsLonger("~"));
}

TEST(VocabularyMap, ComparesWhatTokensSpell) {
  const VocabularyMap map(MakeTokenizer(SmallTokenizer()),
                          MakeTokenizer(Pieces()), {});
  // A space, a, b, and the first byte of é: numbers of the target's bytes.
  EXPECT_EQ(CommonOf(map),
            (Pairs{{' ', 1}, {'a', 4}, {'b', 7}, {0xC3, 5}, {257, 0}}));
  EXPECT_EQ(map.DrafterOf('a'), 4);
  EXPECT_EQ(map.DrafterOf('c'), std::nullopt);
  EXPECT_EQ(map.DrafterOf(-1), std::nullopt);
  EXPECT_EQ(map.DrafterOf(1000), std::nullopt);
}

TEST(VocabularyMap, ReadsATokenThatIsSpelledAsAnother) {
  const VocabularyMap map(MakeTokenizer(Pieces()), ToyTokenizer({"b", "a"}),
                          {});
  EXPECT_EQ(CommonOf(map), (Pairs{{4, 1}, {7, 0}})) << "a is common once";
  EXPECT_EQ(map.DrafterOf(2), 1) << "as 4";
}

TEST(VocabularyMap, PairsSpecialTokensWrittenAlikeThenEnds) {
  const auto target = ToyTokenizer({"a", "<end>", "<x>"});
  const TextEnds ends = {.target = 1, .drafter = 0};
  EXPECT_EQ(CommonOf({target, ToyTokenizer({"<end>", "a", "<x>"}), {}}),
            (Pairs{{0, 1}, {1, 0}, {2, 2}}));
  EXPECT_EQ(CommonOf({target, ToyTokenizer({"<stop>", "a"}), {}}),
            (Pairs{{0, 1}}));
  EXPECT_EQ(CommonOf({target, ToyTokenizer({"<stop>", "a"}), ends}),
            (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(CommonOf({target, ToyTokenizer({"<x>", "a"}), ends}),
            (Pairs{{0, 1}, {2, 0}}))
      << "the drafter's end is the target's <x>";
  EXPECT_EQ(CommonOf({target, ToyTokenizer({"b", "c"}), {}}), (Pairs{}));
}

// A search of all pairs for each new one takes a minute.
TEST(VocabularyMap, PairsAnyNumberOfSpecialTokens) {
  constexpr int kTokens = 1 << 19;
  std::string json = R"({"model": {"vocab": {}, "merges": []}, )"
                     R"("added_tokens": [)";
  for (int id = 0; id < kTokens; ++id)
    absl::StrAppend(&json, id == 0 ? "" : ",", R"({"special":true,"id":)", id,
                    R"(,"content":"<)", id, R"(>"})");
  auto read = Tokenizer::FromJson(json + "]}", "tokenizer.json");
  ASSERT_TRUE(read.ok()) << read.status();
  const std::shared_ptr<const Tokenizer> tokenizer = *std::move(read);
  EXPECT_EQ(VocabularyMap(tokenizer, tokenizer, {}).common().size(), kTokens);
}

TEST(VocabularyMap, OfRealVocabularies) {
  if (SharedData().empty())
    GTEST_SKIP() << "needs the folder shared/data beside the project";
  auto gpt2 = Tokenizer::Load(SharedData() + "/tokenizers/gpt2");
  ASSERT_TRUE(gpt2.ok()) << gpt2.status();
  auto stories = Tokenizer::Load(SharedData() + "/models/stories260K");
  ASSERT_TRUE(stories.ok()) << stories.status();
  const std::shared_ptr<const Tokenizer> target = *std::move(gpt2);
  const std::shared_ptr<const Tokenizer> drafter = *std::move(stories);
  const VocabularyMap map(target, drafter, {});
  EXPECT_GT(map.common().size(), 400);
  for (const std::string token : {"Ġtime", "Ġ", "a", "."}) {
    const auto id = target->FindToken(token);
    ASSERT_TRUE(id.has_value()) << token;
    const auto own = map.DrafterOf(*id);
    ASSERT_TRUE(own.has_value()) << token;
    EXPECT_EQ(*target->TokenBytes(*id), *drafter->TokenBytes(*own));
  }
}

}  // namespace
}  // namespace banyan
