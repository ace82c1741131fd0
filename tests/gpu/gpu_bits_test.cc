// The file of a GPU's bits is what the emulated GPU makes, and what compares
// two devices finds the op in which they part.
#include "tests/gpu/gpu_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/input_files.h"
#include "tests/gpu/traced_backend.h"
#include "tests/support/host_part.h"

namespace banyan {
namespace {

std::vector<BitsLine> Lines() {
  const auto text = ReadFile(kBitsFile, std::size_t{1} << 20);
  Check(text.ok(), text.status().message());
  auto lines = ReadBits(*text);
  Check(lines.ok(), lines.status().message());
  return *std::move(lines);
}

TEST(GpuBits, FileHasEveryCase) {
  std::vector<std::string> expected, found;
  for (const BitsCase& bits : BitsCases())
    for (absl::string_view core : kBitsCores)
      expected.push_back(absl::StrCat(bits.ToText(), " ", core));
  for (const BitsLine& line : Lines())
    found.push_back(absl::StrCat(line.model, " ", line.format, " ", line.core));
  EXPECT_EQ(found, expected);
}

// Tensor cores multiply what is bfloat16: only there do the two kinds differ.
TEST(GpuBits, KindsOfTensorCoresDiffer) {
  const std::vector<BitsLine> lines = Lines();
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
    EXPECT_EQ(lines[i].bits.weights, lines[i + 1].bits.weights);
    EXPECT_EQ(lines[i].bits.rotation, lines[i + 1].bits.rotation);
    if (lines[i].format == "bf16") {
      EXPECT_NE(lines[i].bits.logits, lines[i + 1].bits.logits)
          << lines[i].model;
    }
  }
}

struct Recomputed {
  std::string model, format;
};

class GpuBitsFile : public testing::TestWithParam<Recomputed> {};

// A pass for each number of rows, where the file's were made by one of 130.
TEST_P(GpuBitsFile, IsWhatTheEmulatedGpuMakes) {
  if (LeftOutOnHost(GetParam().model, GetParam().model == "random-qwen3"))
    GTEST_SKIP() << kHostLeftOut;
  int compared = 0;
  for (const BitsLine& line : Lines()) {
    if (line.model != GetParam().model || line.format != GetParam().format)
      continue;
    const std::vector<std::size_t> places = {0, 4, 6};
    std::vector<int> rows;
    std::vector<std::string> expected;
    for (std::size_t place : places) {
      rows.push_back(kBitsRows[place]);
      expected.push_back(line.bits.logits[place]);
    }
    const BitsOf got = MeasureBits({line.model, *FindFormat(line.format)},
                                   EmulatedGpuOf(line.core), rows);
    EXPECT_EQ(got.rotation, line.bits.rotation);
    EXPECT_EQ(got.weights, line.bits.weights);
    EXPECT_EQ(got.logits, expected) << line.core;
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(All, GpuBitsFile,
                         testing::Values(Recomputed{"random-gpt2", "f32"},
                                         Recomputed{"random-mistral", "bf16"},
                                         Recomputed{"random-qwen2", "q8"},
                                         Recomputed{"random-qwen3", "bf16"},
                                         Recomputed{"pycode-draft-1", "bf16"},
                                         Recomputed{"pycode-eagle3", "bf16"},
                                         Recomputed{"pycode-medusa", "q8"}),
                         [](const auto& row) {
                           std::string name =
                               row.param.model + "_" + row.param.format;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(GpuBits, OneDeviceAgreesWithItself) {
  EXPECT_EQ(WhereTheyPart({"random-qwen3", WeightFormat::kBf16}, 2,
                          EmulatedGpuOf("9.0"), EmulatedGpuOf("9.0")),
            std::nullopt);
}

TEST(GpuBits, NamesTheOpWhereTwoPart) {
  const auto told = WhereTheyPart({"random-qwen3", WeightFormat::kBf16}, 2,
                                  EmulatedGpuOf("9.0"), EmulatedGpuOf("8.0"));
  ASSERT_TRUE(told.has_value());
  // Keys and values, which are rounded further, may be the same for long.
  EXPECT_NE(told->find("linear"), std::string::npos) << *told;
  EXPECT_NE(told->find(", op "), std::string::npos) << *told;
  EXPECT_NE(told->find(": row "), std::string::npos) << *told;
  EXPECT_NE(told->find(" and 0x"), std::string::npos) << *told;
}

TEST(GpuBits, NumbersThatAreNoneAreEqual) {
  const std::vector<TracedStep> one = {
      {.op = "norm", .rows = 2, .columns = 1, .words = {7, 0x7fc00000}}};
  std::vector<TracedStep> other = one;
  other[0].words[1] = 0xffffffff;
  EXPECT_EQ(FirstDifference(one, other), std::nullopt);
  other[0].words[1] = 0x7f800000;  // infinite
  EXPECT_EQ(FirstDifference(one, other),
            "norm, op 1 of 1: row 1, column 0: 0x7fc00000 and 0x7f800000");
  other[0].floats = false;
  std::vector<TracedStep> words = one;
  words[0].floats = false;
  other[0].words[1] = 0xffffffff;
  EXPECT_NE(FirstDifference(words, other), std::nullopt);
}

TEST(GpuBits, AMutilatedFileIsRefused) {
  const auto read = ReadBits("# comment\na bf16 9.0 - 12\n");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(),
            "tests/goldens/gpu_bits.txt:2: 5 words, expected 16");
}

}  // namespace
}  // namespace banyan
