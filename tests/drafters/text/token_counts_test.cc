#include "drafters/text/token_counts.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TokenCounts SomeCounts() {
  return {.unigram = {6, 3, 1, 0},
          .offsets = {0, 2, 4, 4, 4},
          .tokens = {1, 2, 0, 1},
          .counts = {3, 1, 2, 2}};
}

std::string ReadError(const std::string& path, int vocab_size = 4) {
  const absl::Status status = ReadTokenCounts(path, vocab_size).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

// What is said of counts that no one should have written.
std::string Refusal(const TokenCounts& counts) {
  const TestFolder folder;
  const std::string path = folder.path() + "/c.safetensors";
  EXPECT_TRUE(WriteTokenCounts(path, counts).ok());
  return ReadError(path);
}

TEST(TokenCounts, AreReadAsTheyWereWritten) {
  const TestFolder folder;
  const std::string path = folder.path() + "/c.safetensors";
  const TokenCounts written = SomeCounts();
  ASSERT_TRUE(WriteTokenCounts(path, written).ok());
  const absl::StatusOr<TokenCounts> read = ReadTokenCounts(path, 4);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->unigram, written.unigram);
  EXPECT_EQ(read->offsets, written.offsets);
  EXPECT_EQ(read->tokens, written.tokens);
  EXPECT_EQ(read->counts, written.counts);
}

TEST(TokenCounts, NeedNoPairs) {
  EXPECT_THAT(
      Refusal(TokenCounts{.unigram = {0, 1, 0, 0}, .offsets = {0, 0, 0, 0, 0}}),
      IsEmpty());
}

TEST(TokenCounts, AreRefusedIfTheNumbersCannotBe) {
  TokenCounts counts = SomeCounts();
  counts.unigram[2] = -1;
  EXPECT_THAT(Refusal(counts), HasSubstr("tensor 'unigram': entry 2 is -1, "
                                         "expected at least 0"));
  counts = SomeCounts();
  counts.unigram = {0, 0, 0, 0};
  EXPECT_THAT(Refusal(counts),
              HasSubstr("expected some token to be counted, found none"));
  counts = SomeCounts();
  counts.offsets[0] = 1;
  EXPECT_THAT(Refusal(counts), HasSubstr("tensor 'bigram.offsets': entry 0 is "
                                         "1, expected 0"));
  counts = SomeCounts();
  counts.offsets[2] = 1;
  EXPECT_THAT(Refusal(counts), HasSubstr("entry 2 is 1, expected at least 2, "
                                         "the entry before it"));
  counts = SomeCounts();
  counts.offsets[4] = 5;
  EXPECT_THAT(Refusal(counts), HasSubstr("entry 4 is 5, expected 4, the size "
                                         "of bigram.tokens"));
  counts = SomeCounts();
  counts.tokens[1] = 4;
  EXPECT_THAT(Refusal(counts), HasSubstr("tensor 'bigram.tokens': entry 1 is "
                                         "4, expected a token from 0 to 3"));
  counts.tokens[1] = -2;
  EXPECT_THAT(Refusal(counts), HasSubstr("entry 1 is -2"));
  counts.tokens[1] = 1;
  EXPECT_THAT(Refusal(counts),
              HasSubstr("entry 1 is 1, expected more than 1, the one before it "
                        "in the row of token 0"));
  counts = SomeCounts();
  counts.counts[3] = 0;
  EXPECT_THAT(Refusal(counts), HasSubstr("tensor 'bigram.counts': entry 3 is "
                                         "0, expected at least 1"));
}

// A row may begin with less than the one before it ended with.
TEST(TokenCounts, AscendWithinARowOnly) {
  TokenCounts counts = SomeCounts();
  counts.tokens = {2, 3, 0, 1};
  EXPECT_THAT(Refusal(counts), IsEmpty());
}

template <typename T>
std::string Stored(const std::vector<T>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

MadeTensors GoodTensors() {
  const TokenCounts counts = SomeCounts();
  return {{"unigram", {"I64", {4}, Stored(counts.unigram)}},
          {"bigram.offsets", {"I64", {5}, Stored(counts.offsets)}},
          {"bigram.tokens", {"I32", {4}, Stored(counts.tokens)}},
          {"bigram.counts", {"I32", {4}, Stored(counts.counts)}}};
}

std::string Refusal(const MadeTensors& tensors, int vocab_size = 4) {
  const TestFolder folder;
  return ReadError(folder.Write("c.safetensors", SafetensorsFile(tensors)),
                   vocab_size);
}

TEST(TokenCounts, AreRefusedIfATensorIsNotAsItShouldBe) {
  EXPECT_THAT(Refusal(GoodTensors()), IsEmpty());
  EXPECT_THAT(Refusal(GoodTensors(), 5),
              HasSubstr("c.safetensors: tensor 'unigram': expected I64 [5], "
                        "the target's vocabulary, found I64 [4]"));
  for (const char* name :
       {"unigram", "bigram.offsets", "bigram.tokens", "bigram.counts"}) {
    MadeTensors tensors = GoodTensors();
    tensors.erase(name);
    EXPECT_THAT(Refusal(tensors),
                HasSubstr(std::string("tensor '") + name + "': is missing"));
    tensors = GoodTensors();
    tensors[name].shape.push_back(1);
    EXPECT_THAT(Refusal(tensors),
                HasSubstr(std::string("tensor '") + name + "': expected I"));
  }
  MadeTensors tensors = GoodTensors();
  tensors["unigram"] = {"I32", {8}, tensors["unigram"].data};
  EXPECT_THAT(Refusal(tensors), HasSubstr("found I32 [8]"));
  tensors = GoodTensors();
  tensors["bigram.offsets"] = {"I64", {4}, Stored<std::int64_t>({0, 2, 4, 4})};
  EXPECT_THAT(Refusal(tensors),
              HasSubstr("tensor 'bigram.offsets': expected I64 [5], the "
                        "vocabulary and 1, found I64 [4]"));
  tensors = GoodTensors();
  tensors["bigram.counts"] = {"I32", {3}, Stored<std::int32_t>({1, 1, 1})};
  EXPECT_THAT(Refusal(tensors),
              HasSubstr("tensor 'bigram.counts': expected I32 [4], as "
                        "bigram.tokens, found I32 [3]"));
  tensors = GoodTensors();
  tensors["trigram"] = {"I32", {0}, ""};
  EXPECT_THAT(Refusal(tensors), HasSubstr("tensor 'trigram': expected none but "
                                          "unigram, bigram.offsets, "));
}

TEST(TokenCounts, SayThatThereIsNoFile) {
  const absl::Status status = ReadTokenCounts("no_such_file", 4).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no_such_file: No such"));
}

TEST(TokenCounts, SayThatTheFileCannotBeMade) {
  const absl::Status status =
      WriteTokenCounts("no_such_folder/c.safetensors", SomeCounts());
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

}  // namespace
}  // namespace banyan
