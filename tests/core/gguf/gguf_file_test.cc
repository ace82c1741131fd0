#include "core/gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "tests/core/gguf/made_gguf.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MadeGguf Good() {
  MadeGguf file;
  file.Text("general.architecture", "llama")
      .Count("llama.block_count", 2)
      .Real("llama.eps", 0.5F)
      .Flag("f", true)
      .Texts("t", {"a", "", "\xE2\x96\x81"})
      .Reals("r", {1.5F, -2})
      .Ints("i", {3, -4})
      .Tensor("m", {2, 3}, 0, std::string(24, 'x'))
      .Tensor("v", {4}, 1, std::string(8, 'y'))
      .Tensor("q", {64, 2}, 8, std::string(4 * 34, 'z'));
  return file;
}

std::string Refusal(const std::string& bytes) {
  const auto read = ParseGguf(AsBytes(bytes), "f.gguf");
  if (read.ok()) return "it was read";
  EXPECT_TRUE(absl::IsInvalidArgument(read.status()));
  EXPECT_THAT(std::string(read.status().message()),
              testing::StartsWith("f.gguf: "));
  return std::string(read.status().message());
}

TEST(Gguf, GivesKeysAndTensors) {
  const std::string bytes = Good().Bytes();
  const auto read = ParseGguf(AsBytes(bytes), "f.gguf");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::get<absl::string_view>(read->keys.at("general.architecture")),
            "llama");
  EXPECT_EQ(std::get<std::int64_t>(read->keys.at("llama.block_count")), 2);
  EXPECT_EQ(std::get<double>(read->keys.at("llama.eps")), 0.5);
  EXPECT_TRUE(std::get<bool>(read->keys.at("f")));
  const auto list = [&](const char* key) {
    return std::get<GgufList>(read->keys.at(key));
  };
  EXPECT_THAT(GgufTexts(list("t")), ElementsAre("a", "", "\xE2\x96\x81"));
  EXPECT_THAT(GgufNumbers(list("r")), ElementsAre(1.5, -2));
  EXPECT_THAT(GgufNumbers(list("i")), ElementsAre(3, -4));
  EXPECT_THAT(GgufNumbers(list("t")), IsEmpty());
  EXPECT_THAT(GgufTexts(list("r")), IsEmpty());
  ASSERT_EQ(read->tensors.size(), 3U);
  const GgufTensor& matrix = read->tensors.at("m");
  EXPECT_EQ(matrix.dtype, DType::kF32);
  EXPECT_THAT(matrix.shape, ElementsAre(3, 2));
  EXPECT_EQ(matrix.data, AsBytes(std::string(24, 'x')));
  EXPECT_EQ(read->tensors.at("v").data, AsBytes(std::string(8, 'y')));
  EXPECT_EQ(read->tensors.at("q").dtype, DType::kQ8_0);
  EXPECT_EQ(read->tensors.at("q").data.size(), 4U * 34);
}

TEST(Gguf, IsRefusedWhereverItIsCutOff) {
  const std::string bytes = Good().Bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(Refusal(bytes.substr(0, size)), "it was read") << size;
}

TEST(Gguf, OfAnotherKindIsRefusedByName) {
  EXPECT_THAT(Refusal("GGML" + Good().Bytes().substr(4)),
              HasSubstr("at byte 0: expected the letters GGUF"));
  MadeGguf file = Good();
  file.version = 2;
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("expected version 3, found 2"));
  file.version = 3U << 24;
  EXPECT_THAT(Refusal(file.Bytes()),
              HasSubstr("found 3 of a big-endian machine"));
  file = Good();
  file.Count("split.count", 4);
  EXPECT_THAT(Refusal(file.Bytes()),
              HasSubstr("split.count: expected a whole model"));
}

TEST(Gguf, OfATypeThatNothingReadsIsRefusedByName) {
  for (const auto& [number, name] :
       std::vector<std::pair<std::uint32_t, std::string>>{
           {10, "Q2_K"}, {11, "Q3_K"}, {20, "IQ4_NL"}, {39, "MXFP4"}}) {
    MadeGguf file = Good();
    file.Tensor("odd", {256}, number, std::string(256, 'x'));
    EXPECT_THAT(
        Refusal(file.Bytes()),
        HasSubstr(
            "tensor 'odd': expected one of the types F32, F16, "
            "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, BF16, found " +
            name));
  }
  MadeGguf file = Good();
  file.Tensor("odd", {1}, 77, "");
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("found type number 77"));
}

// Nothing is made room for by what a file says alone.
TEST(Gguf, OfCountsBeyondTheFileIsRefused) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  MadeGguf file = Good();
  file.key_count = kHuge;
  EXPECT_NE(Refusal(file.Bytes()), "it was read");
  file = Good();
  file.tensor_count = kHuge;
  EXPECT_NE(Refusal(file.Bytes()), "it was read");
  file = Good();
  file.List("l", 5, kHuge, "");
  EXPECT_THAT(Refusal(file.Bytes()),
              HasSubstr("key 'l': a list of 1152921504606846976 items is "
                        "longer than the "));
  file = Good();
  file.List("l", 8, kHuge, "");
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("key 'l': a list of "));
  file = Good();
  file.Key("k", 8, Raw(kHuge));
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("key 'k': at byte "));
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector<std::uint64_t>{kHuge},
        {1 << 30, 1 << 30, 1 << 30},
        {kHuge, 2},
        {~std::uint64_t{0}}}) {
    file = Good();
    file.TensorAt("huge", sizes, 0, 0);
    EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("tensor 'huge': "));
  }
}

TEST(Gguf, OfTensorsInAWrongPlaceIsRefused) {
  const auto with = [](std::uint64_t size, std::uint64_t offset) {
    MadeGguf file;
    file.Tensor("a", {8}, 0, std::string(32, 'x'))
        .TensorAt("b", {size}, 0, offset)
        .Data(std::string(32, 'y'));
    return Refusal(file.Bytes());
  };
  EXPECT_EQ(with(8, 32), "it was read");
  EXPECT_EQ(with(8, 16),
            "f.gguf: tensor 'b': expected its data at a multiple of 32, found "
            "it at 16");
  EXPECT_EQ(with(8, 0), "f.gguf: tensor 'b': its data overlap those of 'a'");
  EXPECT_EQ(with(9, 32),
            "f.gguf: tensor 'b': its 36 bytes at 32 of the data end after the "
            "64 that the file has");
  EXPECT_EQ(with(8, ~std::uint64_t{31}),
            "f.gguf: tensor 'b': its 32 bytes at 18446744073709551584 of the "
            "data end after the 64 that the file has");
}

TEST(Gguf, OfWrongShapesIsRefused) {
  for (const auto& [sizes, type, what] : std::vector<
           std::tuple<std::vector<std::uint64_t>, std::uint32_t, std::string>>{
           {{}, 0, "expected from 1 to 4 sizes, found 0"},
           {{1, 1, 1, 1, 1}, 0, "expected from 1 to 4 sizes, found 5"},
           {{33, 2},
            8,
            "expected rows of whole blocks of 32 numbers (Q8_0), "
            "found rows of 33"},
           {{128},
            12,
            "expected rows of whole blocks of 256 numbers (Q4_K)"}}) {
    MadeGguf file = Good();
    file.TensorAt("w", sizes, type, 0);
    EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("tensor 'w': " + what));
  }
}

TEST(Gguf, OfWhatComesTwiceIsRefused) {
  MadeGguf file = Good();
  file.Flag("f", false);
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("key 'f': comes twice"));
  file = Good();
  file.Tensor("m", {1}, 0, "abcd");
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("tensor 'm': comes twice"));
}

TEST(Gguf, OfValuesThatAreNoneIsRefused) {
  for (const auto& [type, value, what] :
       std::vector<std::tuple<std::uint32_t, std::string, std::string>>{
           {13, "", "expected a type from 0 to 12, found 13"},
           {9, Raw<std::uint32_t>(9) + Raw<std::uint64_t>(1),
            "expected a list of numbers or texts, found one of type number 9"},
           {10, Raw(~std::uint64_t{0}), "expected a number below 2^63"}}) {
    MadeGguf file;
    file.Key("k", type, value);
    EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("key 'k': " + what));
  }
}

TEST(Gguf, IsAlignedToAMultipleOfEight) {
  for (const std::uint32_t alignment : {0U, 1U, 2U, 4U, 12U, 1U << 21})
    EXPECT_THAT(
        Refusal(MadeGguf().Count("general.alignment", alignment).Bytes()),
        HasSubstr(absl::StrCat("general.alignment: expected a multiple of 8 up "
                               "to 1048576, found ",
                               alignment)));
  EXPECT_THAT(Refusal(MadeGguf().Text("general.alignment", "32").Bytes()),
              HasSubstr("found another type"));
  for (const std::uint32_t alignment : {8U, 24U, 32U, 1U << 20})
    EXPECT_EQ(Refusal(MadeGguf().Count("general.alignment", alignment).Bytes()),
              "it was read");
}

TEST(Gguf, IsKnownByItsEnding) {
  EXPECT_TRUE(IsGguf("models/a.gguf"));
  EXPECT_TRUE(IsGguf("A.GGUF"));
  EXPECT_FALSE(IsGguf("models/gguf"));
  EXPECT_FALSE(IsGguf("a.gguf/model"));
}

}  // namespace
}  // namespace banyan
