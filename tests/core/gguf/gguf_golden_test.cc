// Tiny models in GGUF files (tests/goldens/gguf_models.py) against what other
// implementations make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/number_rows.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/token.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/tokenizer/tokenizer.h"
#include "core/transformer/transformer.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

const std::string kNames[] = {"gpt2", "llama", "qwen2", "qwen3", "types"};

std::string File(const std::string& name, const std::string& ending) {
  return absl::StrCat("tests/goldens/gguf/", name, ".", ending);
}

class GgufGolden : public testing::TestWithParam<std::string> {};

// As in transformer_golden_test.cc, whose rows have 36 numbers: those of 256
// meet some 1,100 roundings, which wander by 33 units of 2^-24, times eight.
double Bound(Backend& backend, double largest) {
  return backend.facts().rounds_to_bf16 ? 6 * std::ldexp(largest, -8)
                                        : 270 * std::ldexp(largest, -24);
}

TEST_P(GgufGolden, LogitsAgree) {
  const GoldenNumbers golden =
      ReadGoldenLogits(File(GetParam(), "safetensors"));
  double largest = 0;
  for (const auto& row : golden.logits64)
    for (double logit : row) largest = std::max(largest, std::abs(logit));
  for (const char* device : {"cpu", "reference", "emulated_gpu"}) {
    auto backend = OpenDevice(device);
    ASSERT_TRUE(backend.ok()) << backend.status();
    const auto model = LoadModel(File(GetParam(), "gguf"), *backend);
    const std::unique_ptr<Session> session = model->NewSession();
    const auto scores =
        ScoreOne(*model, *session, ChainAfter(*session, golden.ids));
    ASSERT_TRUE(scores.ok()) << scores.status();
    double off = 0;
    for (std::size_t row = 0; row < golden.ids.size(); ++row) {
      const auto logits = MustRead(**scores, static_cast<int>(row));
      ASSERT_EQ(logits.size(), golden.logits64[row].size());
      for (std::size_t i = 0; i < logits.size(); ++i)
        off = std::max(off, std::abs(logits[i] - golden.logits64[row][i]));
    }
    EXPECT_LE(off, Bound(**backend, largest)) << device;
  }
}

TEST_P(GgufGolden, TextsAreCutAsTheLibraryCutsThem) {
  const auto tokenizer = Tokenizer::Load(File(GetParam(), "gguf"));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto file = TensorFile::Open(File(GetParam(), "safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  int texts = 0;
  for (;; ++texts) {
    const StoredTensor* text = (*file)->Find(absl::StrCat("text.", texts));
    if (text == nullptr) break;
    const StoredTensor* ids = (*file)->Find(absl::StrCat("text_ids.", texts));
    ASSERT_NE(ids, nullptr);
    std::vector<TokenId> expected(ids->data.size() / sizeof(std::int64_t));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::int64_t id = 0;
      std::memcpy(&id, &ids->data[i * sizeof id], sizeof id);
      expected[i] = static_cast<TokenId>(id);
    }
    const std::string words(reinterpret_cast<const char*>(text->data.data()),
                            text->data.size());
    const auto read = (*tokenizer)->Encode(words, {.add_special = false});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, expected) << words;
  }
  EXPECT_EQ(texts, 6);
}

INSTANTIATE_TEST_SUITE_P(All, GgufGolden, testing::ValuesIn(kNames),
                         [](const auto& name) { return name.param; });

TEST(GgufGoldens, AreAllTheFilesAndHaveEveryType) {
  std::set<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/goldens/gguf"))
    if (entry.path().extension() == ".gguf")
      files.insert(entry.path().stem().string());
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(kNames));
  const auto file = TensorFile::Open(File("types", "gguf"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::set<std::string> types;
  for (const auto& [name, tensor] : (*file)->tensors())
    types.emplace(DTypeName(tensor.dtype));
  EXPECT_THAT(
      types, testing::UnorderedElementsAre("F32", "F16", "BF16", "Q8_0", "Q4_0",
                                           "Q4_1", "Q4_K", "Q5_K", "Q6_K"));
}

// To the last bit.
TEST(WeightBlocks, AreTheNumbersOfTheFormatsOwnLibrary) {
  const auto file = TensorFile::Open("tests/goldens/gguf/blocks.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  int types = 0;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (DTypeBlock(dtype) == 1) continue;
    const StoredTensor* stored =
        (*file)->Find(absl::StrCat(DTypeName(dtype), ".stored"));
    const StoredTensor* numbers =
        (*file)->Find(absl::StrCat(DTypeName(dtype), ".numbers"));
    ASSERT_NE(stored, nullptr) << DTypeName(dtype);
    ASSERT_NE(numbers, nullptr);
    std::vector<float> read(numbers->data.size() / sizeof(float));
    ASSERT_GE(read.size(), 256U);
    EXPECT_TRUE(
        FloatsFromBlocks(dtype, stored->data.data(), read.size(), read.data()));
    EXPECT_EQ(
        std::memcmp(read.data(), numbers->data.data(), numbers->data.size()), 0)
        << DTypeName(dtype);
    ++types;
  }
  EXPECT_EQ(types, 8);
}

// Rows of queries and keys stand in another order in the file.
TEST(WeightBlocks, OfFourBitsAreKeptAsTheyAre) {
  std::set<WeightFormat> formats;
  for (const char* name : {"gpt2", "types"}) {
    const auto checkpoint = Checkpoint::Open(File(name, "gguf"));
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    ForEachSource((*checkpoint)->architecture(), [&](const WeightSource& of) {
      const MatrixSources sources = {&of};
      const WeightFormat format =
          (*checkpoint)->MatrixFormat(sources, WeightFormat::kQ4);
      if (of.columns == 1 || !(*checkpoint)->KeepsBlocks(sources, format))
        return;
      formats.insert(format);
      const std::size_t panel = PanelBytes(format, of.columns);
      std::vector<std::byte> panels(PanelCount(of.rows) * panel);
      const absl::Status made =
          (*checkpoint)->MakePanels(sources, format, 0, absl::MakeSpan(panels));
      ASSERT_TRUE(made.ok()) << made;
      const auto columns = static_cast<std::size_t>(of.columns);
      std::vector<float> expected(columns);
      std::vector<float> kept(columns);
      for (int row = 0; row < of.rows; ++row) {
        ASSERT_TRUE((*checkpoint)
                        ->ReadRows(of, {row, 1}, absl::MakeSpan(expected))
                        .ok());
        ReadPanelRow(
            format, of.columns,
            &panels[static_cast<std::size_t>(row / kPanelRows) * panel],
            row % kPanelRows, kept.data());
        ASSERT_EQ(kept, expected) << of.tensor << " " << row;
      }
    });
  }
  EXPECT_EQ(formats.size(), 3U) << "Q4_0, Q4_1 and Q4_K";
}

// Loaded in four bits, a model has the weights that its file has, where it can.
TEST(WeightBlocks, MakeAModelOfFourBits) {
  const struct {
    const char* name;
    std::set<std::string> formats;
  } kCases[] = {{"gpt2", {"f32", "q4", "q8"}}, {"types", {"q4", "q8"}}};
  for (const auto& [name, formats] : kCases) {
    const GoldenNumbers golden = ReadGoldenLogits(File(name, "safetensors"));
    double largest = 0;
    for (const auto& row : golden.logits64)
      for (double logit : row) largest = std::max(largest, std::abs(logit));
    std::vector<std::vector<double>> logits;  // of the last row, by device
    for (const char* device : {"cpu", "reference"}) {
      auto backend = OpenDevice(device);
      ASSERT_TRUE(backend.ok()) << backend.status();
      const auto model =
          LoadModel(File(name, "gguf"), *backend, WeightFormat::kQ4);
      std::set<std::string> found;
      for (const KeptMatrix& matrix : model->facts().matrices)
        found.emplace(Name(matrix.format));
      EXPECT_EQ(found, formats) << name;
      const std::unique_ptr<Session> session = model->NewSession();
      const auto scores =
          ScoreOne(*model, *session, ChainAfter(*session, golden.ids));
      ASSERT_TRUE(scores.ok()) << scores.status();
      const auto last =
          MustRead(**scores, static_cast<int>(golden.ids.size()) - 1);
      logits.emplace_back(last.begin(), last.end());
    }
    double off = 0;
    double rounded = 0;
    for (std::size_t i = 0; i < logits[0].size(); ++i) {
      off = std::max(off, std::abs(logits[0][i] - logits[1][i]));
      rounded =
          std::max(rounded, std::abs(logits[0][i] - golden.logits64.back()[i]));
    }
    // An activation that is nearly half a step is rounded either way.
    EXPECT_LE(off, 0.01 * largest) << name;
    EXPECT_LE(rounded, 0.1 * largest) << name;
  }
}

TEST(WeightBlocks, SeeWhatIsNoNumber) {
  std::vector<std::byte> block(34);
  block[1] = std::byte{0x7c};  // an infinite scale
  std::vector<float> numbers(32);
  EXPECT_FALSE(
      FloatsFromBlocks(DType::kQ8_0, block.data(), 32, numbers.data()));
  block[1] = std::byte{0x3c};
  EXPECT_TRUE(FloatsFromBlocks(DType::kQ8_0, block.data(), 32, numbers.data()));
}

}  // namespace
}  // namespace banyan
