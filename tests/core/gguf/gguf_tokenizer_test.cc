// What core/gguf/model_text.h makes of keys, by the tokenizer read from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/gguf/made_gguf.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A tokenizer of the file's keys, as a model is opened with it.
absl::StatusOr<std::unique_ptr<Tokenizer>> Open(const MadeGguf& made) {
  const TestFolder folder;
  return Tokenizer::Load(folder.Write("m.gguf", made.Bytes()));
}

std::string Refusal(const MadeGguf& made) {
  const auto tokenizer = Open(made);
  return tokenizer.ok() ? "it was read"
                        : std::string(tokenizer.status().message());
}

// Sentencepiece: a score a token, and tokens for bytes.
MadeGguf Spm() {
  MadeGguf file;
  file.Text("tokenizer.ggml.model", "llama")
      .Texts("tokenizer.ggml.tokens",
             {"<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xBC>", "\u2581",
              "a", "b", "ab", "\u2581a", "\u2581ab", "ba"})
      .Reals("tokenizer.ggml.scores",
             {0, 0, 0, 0, 0, 0, -9, -7, -8, -1, -2, -4, -3})
      .Ints("tokenizer.ggml.token_type",
            {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1})
      .Count("tokenizer.ggml.bos_token_id", 1)
      .Count("tokenizer.ggml.eos_token_id", 2)
      .Count("tokenizer.ggml.unknown_token_id", 0);
  return file;
}

TEST(GgufTokenizer, OfScoresMergesTheBestPairFirst) {
  const auto tokenizer = Open(Spm());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const Tokenizer& read = **tokenizer;
  // "▁ab": a and b first, which have the best score.
  EXPECT_THAT(read.Encode("ab").value(), ElementsAre(1, 11));
  EXPECT_THAT(read.Encode("ba").value(), ElementsAre(1, 6, 12));
  EXPECT_THAT(read.Encode("aab").value(), ElementsAre(1, 10, 9));
  EXPECT_THAT(read.Encode("a\n\u00fc", {.add_special = false}).value(),
              ElementsAre(10, 3, 4, 5));
  EXPECT_THAT(read.Encode("</s>").value(), ElementsAre(1, 2));
  EXPECT_EQ(read.Decode({10, 9, 3}, true).value(), "aab\n");
  EXPECT_EQ(read.bos_id(), 1);
  EXPECT_EQ(read.eos_id(), 2);
  EXPECT_EQ(read.unk_id(), 0);
}

TEST(GgufTokenizer, AddsWhatTheFileSays) {
  MadeGguf file = Spm();
  file.Flag("tokenizer.ggml.add_bos_token", false)
      .Flag("tokenizer.ggml.add_eos_token", true)
      .Flag("tokenizer.ggml.add_space_prefix", false)
      .Text("tokenizer.chat_template", "{{ bos_token }}x");
  const auto tokenizer = Open(file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT((*tokenizer)->Encode("ab").value(), ElementsAre(9, 2));
  EXPECT_EQ((*tokenizer)->Decode({9}).value(), "ab");
  EXPECT_EQ((*tokenizer)->chat_template(), "{{ bos_token }}x");
}

// Of scores, with one a token and no token before a text.
MadeGguf Scored(const std::vector<std::string>& tokens) {
  MadeGguf file;
  file.Text("tokenizer.ggml.model", "llama")
      .Texts("tokenizer.ggml.tokens", tokens)
      .Reals("tokenizer.ggml.scores", std::vector<float>(tokens.size()))
      .Flag("tokenizer.ggml.add_bos_token", false);
  return file;
}

// The work for a token grows with the square of its bytes: a megabyte takes
// minutes.
TEST(GgufTokenizer, RefusesATokenOfTooManyBytes) {
  EXPECT_EQ(Refusal(Scored({"a", std::string(1024, 'a')})), "it was read");
  EXPECT_THAT(Refusal(Scored({"a", std::string(1025, 'a')})),
              HasSubstr("m.gguf: tokenizer.ggml.tokens: token 1: expected at "
                        "most 1024 bytes, found 1025"));
  EXPECT_THAT(Refusal(Scored({"a", std::string(4 << 20, 'a')})),
              HasSubstr("found 4194304"));
}

// Tokens a, aa, aaa and so on have pairs whose number grows with their square
// and whose bytes grow with the cube.
TEST(GgufTokenizer, RefusesTooManyBytesOfPairs) {
  std::vector<std::string> tokens;
  for (std::size_t bytes = 1; bytes <= 1000; ++bytes)
    tokens.emplace_back(bytes, 'a');
  EXPECT_THAT(Refusal(Scored(tokens)),
              HasSubstr("m.gguf: tokenizer.ggml.tokens: tokens 0 to 586 have "
                        "pairs of 67"));
  tokens.resize(100);
  EXPECT_EQ(Refusal(Scored(tokens)), "it was read");
}

// A message with each of them, compared with all others, takes minutes.
TEST(GgufTokenizer, TellsOfTheFirstOfAnyNumberOfWrongTokens) {
  const std::string refusal =
      Refusal(Scored(std::vector<std::string>(1 << 19)));
  EXPECT_EQ(refusal.substr(refusal.rfind('/') + 1),
            "m.gguf: tokenizer.ggml.tokens: '' is token 0 and token 1");
}

TEST(GgufTokenizer, RefusesAScoreThatIsNoNumber) {
  MadeGguf file;
  file.Text("tokenizer.ggml.model", "llama")
      .Texts("tokenizer.ggml.tokens", {"a", "b", "ab"})
      .Flag("tokenizer.ggml.add_bos_token", false)
      .Reals("tokenizer.ggml.scores", {1, 2, std::nanf("")});
  EXPECT_THAT(Refusal(file),
              HasSubstr("m.gguf: tokenizer.ggml.scores: token 2: expected a "
                        "number, found nan"));
}

TEST(GgufTokenizer, RefusesByName) {
  MadeGguf file;
  file.Text("tokenizer.ggml.model", "bert")
      .Texts("tokenizer.ggml.tokens", {"a"});
  EXPECT_THAT(Refusal(file),
              HasSubstr("m.gguf: tokenizer.ggml.model: unknown tokenizer "
                        "'bert'"));
  file = MadeGguf();
  file.Text("tokenizer.ggml.model", "gpt2")
      .Text("tokenizer.ggml.pre", "smolm")
      .Texts("tokenizer.ggml.tokens", {"a"});
  EXPECT_THAT(Refusal(file), HasSubstr("tokenizer.ggml.pre: unknown "
                                       "pre-tokenizer 'smolm'; did you mean "
                                       "'smollm'?"));
  file = MadeGguf();
  file.Text("tokenizer.ggml.model", "gpt2")
      .Texts("tokenizer.ggml.tokens", {"a"});
  EXPECT_THAT(Refusal(file),
              HasSubstr("tokenizer.ggml.merges: expected merges, "
                        "found none"));
  file.Texts("tokenizer.ggml.merges", {"a b"});
  EXPECT_THAT(Refusal(file), HasSubstr("'b' is not in the vocabulary"));
  file = MadeGguf();
  file.Text("tokenizer.ggml.model", "llama")
      .Texts("tokenizer.ggml.tokens", {"a", "b", "a"});
  EXPECT_THAT(Refusal(file), HasSubstr("tokenizer.ggml.tokens: 'a' is token 0 "
                                       "and token 2"));
  file = MadeGguf();
  file.Text("tokenizer.ggml.model", "llama")
      .Texts("tokenizer.ggml.tokens", {"a", "b"})
      .Flag("tokenizer.ggml.add_bos_token", false)
      .Reals("tokenizer.ggml.scores", {1});
  EXPECT_THAT(Refusal(file),
              HasSubstr("tokenizer.ggml.scores: expected one for "
                        "each of the 2 tokens, found 1"));
  file = Spm();
  file.Flag("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(Refusal(file), "it was read");
  file = MadeGguf();
  file.Text("tokenizer.ggml.model", "llama")
      .Texts("tokenizer.ggml.tokens", {"a", "b"})
      .Reals("tokenizer.ggml.scores", {1, 2})
      .Count("tokenizer.ggml.bos_token_id", 7);
  EXPECT_THAT(Refusal(file),
              HasSubstr("tokenizer.ggml.bos_token_id: expected a "
                        "token below 2, found 7"));
  file = MadeGguf();
  file.Text("general.architecture", "llama");
  EXPECT_EQ(Refusal(file).substr(Refusal(file).rfind('/') + 1),
            "m.gguf: tokenizer.ggml.model: expected the name of a tokenizer, "
            "found no such key");
}

}  // namespace
}  // namespace banyan
