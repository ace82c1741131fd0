// The arithmetic of growing: sizes, places and noise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/weight_rows.h"
#include "experiments/makers/grow/model_size.h"
#include "experiments/makers/grow/output_folder.h"
#include "experiments/makers/grow/tensor_plan.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/makers/growing.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::Each;
using testing::HasSubstr;

// A llama of this size, heads of 64.
Architecture Llama(const ModelSize& size) {
  Architecture result;
  result.family = "llama";
  result.hidden_size = size.hidden;
  result.layers.resize(static_cast<std::size_t>(size.layers));
  result.heads = size.heads;
  result.kv_heads = size.kv_heads;
  result.feed_forward_size = size.feed_forward;
  result.head_dim = 64;
  return result;
}

constexpr ModelSize kSmall = {192, 4, 3, 3, 512};

ModelSize Resolved(const Architecture& architecture, const SizeWish& wish) {
  const auto size = ResolveSize(architecture, wish);
  EXPECT_TRUE(size.ok()) << size.status();
  return size.ok() ? *size : ModelSize();
}

TEST(GrowSize, TakesAShapeByName) {
  EXPECT_EQ(Resolved(Llama(kSmall), {"110m"}),
            (ModelSize{768, 12, 12, 12, 2048}));
  EXPECT_EQ(Resolved(Llama(kSmall), {"1b"}),
            (ModelSize{2048, 22, 32, 4, 5632}));
  EXPECT_EQ(Resolved(Llama(kSmall), {"7b"}),
            (ModelSize{4096, 32, 64, 64, 11008}));
  Architecture wide = Llama(kSmall);
  wide.head_dim = 128;
  EXPECT_EQ(Resolved(wide, {"7b"}), (ModelSize{4096, 32, 32, 32, 11008}));
}

TEST(GrowSize, FitsAShapeToHeadsThatDoNotDivideIt) {
  Architecture odd = Llama(kSmall);
  odd.head_dim = 48;  // 5.3 key heads, 42.7 query heads in the shape
  EXPECT_EQ(Resolved(odd, {"1b"}), (ModelSize{2048, 22, 45, 5, 5632}));
  odd = Llama({192, 4, 15, 5, 512});  // more key heads than the shape's 4
  EXPECT_EQ(Resolved(odd, {"1b"}), (ModelSize{2048, 22, 30, 5, 5632}));
  odd = Llama({192, 4, 60, 5, 512});  // more queries to a key head
  EXPECT_EQ(Resolved(odd, {"1b"}), (ModelSize{2048, 22, 60, 5, 5632}));
}

TEST(GrowSize, KeepsAllLayersOfADeepModel) {
  // SmolLM2-135M: 9 query heads on 3 key heads become 32 on 4.
  const Architecture deep = Llama({576, 30, 9, 3, 1536});
  EXPECT_EQ(Resolved(deep, {"1b"}), (ModelSize{2048, 30, 32, 4, 5632}));
  EXPECT_EQ(Resolved(deep, {"7b", {.kv_heads = 8, .feed_forward = 14336}}),
            (ModelSize{4096, 32, 64, 8, 14336}));
}

TEST(GrowSize, ReplacesAndKeepsSizesOneByOne) {
  EXPECT_EQ(Resolved(Llama(kSmall), {"110m", {.layers = 5, .heads = 24}}),
            (ModelSize{768, 5, 24, 12, 2048}));
  EXPECT_EQ(Resolved(Llama(kSmall), {"", {.hidden = 200}}),
            (ModelSize{200, 4, 3, 3, 512}));
}

TEST(GrowSize, RefusesWhatWouldNotComputeTheSame) {
  struct Case {
    Architecture architecture;
    SizeWish wish;
    std::string reason;
  };
  Architecture gpt2 = Llama(kSmall);
  gpt2.family = "gpt2";
  Architecture grown = Llama(kSmall);
  grown.grown_from = "tiny";
  for (const Case& bad : std::vector<Case>{
           {gpt2, {"110m"}, "family gpt2 cannot grow: expected llama, mist"},
           {grown, {"110m"}, "itself grown, from 'tiny'"},
           {Llama(kSmall), {"2b"}, "--like: expected 110m, 1b or 7b, found '2"},
           {Llama(kSmall), {}, "has that size already"},
           {Llama({1024, 4, 3, 3, 512}),
            {"110m"},
            "--hidden: the model has 1024, expected at least that, found 768"},
           {Llama(kSmall), {"", {.layers = 3}}, "--layers: the model has 4"},
           {Llama(kSmall), {"", {.heads = 2}}, "--heads: the model has 3"},
           {Llama(kSmall),
            {"", {.heads = 6, .kv_heads = 2}},
            "--kv-heads: the model has 3"},
           {Llama(kSmall),
            {"", {.feed_forward = 5}},
            "--feed-forward: the model has 512"},
           {Llama(kSmall),
            {"", {.heads = 7}},
            "--heads: expected a multiple of the 3 key heads, found 7"},
           {Llama({192, 4, 6, 3, 512}),
            {"", {.heads = 6, .kv_heads = 6}},
            "--heads over --kv-heads: the model has 2"},
           {Llama(kSmall), {"", {.layers = 1025}}, "at most 1024 layers"},
           {Llama(kSmall), {"", {.heads = 4098}}, "4096 heads"},
           {Llama(kSmall),
            {"", {.hidden = 1 << 25}},
            "sizes up to 16777216"}}) {
    const absl::Status status =
        ResolveSize(bad.architecture, bad.wish).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad.reason;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.reason));
  }
}

TEST(GrowAxis, PutsEachBlockAtItsPlace) {
  // Two key heads with three queries each, then three with five.
  const Axis heads = {
      .size = 15, .old_size = 6, .old_block = 3, .new_block = 5};
  std::vector<int> old_places;
  for (int place = 0; place < heads.size;) {
    const Axis::Run run = heads.At(place);
    ASSERT_GT(run.count, 0);
    for (int i = 0; i < run.count; ++i)
      old_places.push_back(run.old_place < 0 ? -1 : run.old_place + i);
    place += run.count;
  }
  EXPECT_EQ(old_places, (std::vector<int>{0, 1, 2, -1, -1, 3, 4, 5, -1, -1, -1,
                                          -1, -1, -1, -1}));
  EXPECT_EQ(Axis::First(4, 9).At(0).count, 4);
  EXPECT_EQ(Axis::First(4, 9).At(4).old_place, -1);
  EXPECT_EQ(Axis::First(4, 9).At(4).count, 5);
  EXPECT_EQ(Axis::First(4, 4).At(1).count, 3);
  EXPECT_EQ((Axis{.size = 3}).At(1).count, 2);
}

TEST(GrowScale, IsExactAtPowersOfFour) {
  for (int factor : {1, 4, 16, 64})
    EXPECT_TRUE(IsExactScale(192, 192 * factor));
  for (int size : {193, 384, 576, 2048, 768 + 4, 1536})
    EXPECT_FALSE(IsExactScale(192, size)) << size;
  EXPECT_EQ(NormScale(192, 3072), 0.25);
}

std::vector<float> Numbers(const GrownTensor& tensor) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(tensor.entry().bytes()));
  EXPECT_TRUE(
      FillRows(tensor, 0, 0, tensor.rows.size, absl::MakeSpan(bytes)).ok());
  std::vector<float> numbers(
      bytes.size() / static_cast<std::size_t>(DTypeBytes(tensor.dtype)));
  EXPECT_TRUE(
      ReadRows({tensor.dtype, {}, bytes},
               {.rows = tensor.rows.size, .columns = tensor.columns.size},
               {0, tensor.rows.size}, numbers.data())
          .ok());
  return numbers;
}

class GrowPlan : public testing::Test {
 protected:
  // Six heads of 6 on two key heads; then 20 on 4.
  GrowPlan() {
    auto planned = PlanTensors(*checkpoint_, {.hidden = 144,
                                              .layers = 3,
                                              .heads = 20,
                                              .kv_heads = 4,
                                              .feed_forward = 60});
    EXPECT_TRUE(planned.ok()) << planned.status();
    tensors_ = *planned;
  }

  const GrownTensor& Find(const std::string& name) const {
    for (const GrownTensor& tensor : tensors_)
      if (tensor.name == name) return tensor;
    ADD_FAILURE() << name;
    return tensors_.front();
  }
  std::vector<float> Old(const WeightSource& source) const {
    std::vector<float> numbers(static_cast<std::size_t>(source.rows) *
                               static_cast<std::size_t>(source.columns));
    EXPECT_TRUE(
        checkpoint_->ReadRows(source, {0, source.rows}, absl::MakeSpan(numbers))
            .ok());
    return numbers;
  }

  const std::unique_ptr<Checkpoint> checkpoint_ =
      MustOpen(GoldenFolder("llama"));
  const Architecture& of_ = checkpoint_->architecture();
  std::vector<GrownTensor> tensors_;
};

// The new head of each old one: head j of key head g at g * 5 + j.
constexpr int kHeads[] = {0, 1, 2, 5, 6, 7};

TEST_F(GrowPlan, KeepsOldHeadsAtTheirKeyHeads) {
  const auto query = Numbers(Find("model.layers.1.self_attn.q_proj.weight"));
  const auto output = Numbers(Find("model.layers.1.self_attn.o_proj.weight"));
  const auto old_query = Old(of_.layers[1].query);
  const auto old_output = Old(of_.layers[1].output);
  std::set<int> old_columns;
  for (int head = 0; head < 6; ++head)
    for (int i = 0; i < 6; ++i) {
      const int old_place = head * 6 + i;
      const int place = kHeads[head] * 6 + i;
      old_columns.insert(place);
      for (int hidden = 0; hidden < 36; ++hidden) {
        ASSERT_EQ(query[place * 144 + hidden],
                  old_query[old_place * 36 + hidden]);
        ASSERT_EQ(output[hidden * 120 + place],
                  old_output[hidden * 36 + old_place]);
      }
    }
  for (int row = 0; row < 144; ++row)
    for (int column = 0; column < 120; ++column)
      if (row >= 36 || old_columns.count(column) == 0) {
        ASSERT_EQ(output[row * 120 + column], 0) << row << ", " << column;
      }
  for (int row = 0; row < 120; ++row)
    for (int column = 0; column < 144; ++column)
      if (column >= 36 || old_columns.count(row) == 0) {
        ASSERT_NE(query[row * 144 + column], 0) << row << ", " << column;
      }
}

TEST_F(GrowPlan, WritesNothingBesideTheOldStream) {
  const auto embedding = Numbers(Find("model.embed_tokens.weight"));
  const auto head = Numbers(Find("lm_head.weight"));
  const auto down = Numbers(Find("model.layers.0.mlp.down_proj.weight"));
  const auto old_down = Old(of_.layers[0].down);
  for (int token = 0; token < 83; ++token)
    for (int i = 36; i < 144; ++i) {
      ASSERT_EQ(embedding[token * 144 + i], 0);
      ASSERT_NE(head[token * 144 + i], 0);
    }
  for (int row = 0; row < 144; ++row)
    for (int column = 0; column < 60; ++column)
      ASSERT_EQ(down[row * 60 + column],
                row < 36 && column < 52 ? old_down[row * 52 + column] : 0);
  for (const char* name : {"self_attn.o_proj", "mlp.down_proj"})
    EXPECT_THAT(
        Numbers(Find("model.layers.2." + std::string(name) + ".weight")),
        Each(0.0F));
  for (const char* name : {"self_attn.q_proj", "self_attn.k_proj",
                           "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"})
    EXPECT_THAT(
        Numbers(Find("model.layers.2." + std::string(name) + ".weight")),
        Each(testing::Ne(0.0F)));
}

TEST_F(GrowPlan, HalvesTheNormsOfAQuadrupledStream) {
  const auto norm = Numbers(Find("model.norm.weight"));
  const auto old_norm = Old(of_.final_norm);
  for (std::size_t i = 0; i < norm.size(); ++i)
    EXPECT_TRUE(i < old_norm.size() ? norm[i] == old_norm[i] / 2
                                    : norm[i] >= 0.5F && norm[i] < 0.57F)
        << i << ": " << norm[i];
}

// A block of rows is the same whatever blocks come before.
TEST_F(GrowPlan, FillsRowsInAnyBlocks) {
  for (const GrownTensor& tensor : tensors_) {
    const auto all = static_cast<std::size_t>(tensor.entry().bytes());
    const std::size_t row = all / static_cast<std::size_t>(tensor.rows.size);
    std::vector<std::byte> whole(all);
    std::vector<std::byte> pieces(all);
    EXPECT_TRUE(
        FillRows(tensor, 3, 0, tensor.rows.size, absl::MakeSpan(whole)).ok());
    for (int first = tensor.rows.size; first > 0;) {
      const int count = std::min(7, first);
      first -= count;
      EXPECT_TRUE(FillRows(tensor, 3, first, count,
                           absl::MakeSpan(pieces).subspan(
                               static_cast<std::size_t>(first) * row,
                               static_cast<std::size_t>(count) * row))
                      .ok());
    }
    EXPECT_EQ(whole, pieces) << tensor.name;
  }
}

TEST(GrowNoise, HasTheSpreadOfTrainedWeightsAndIsTheSameInEveryType) {
  constexpr int kCount = 100000;
  std::vector<std::vector<float>> types;
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(kCount) *
                                 static_cast<std::size_t>(DTypeBytes(dtype)));
    Noise(Noise::Key(0, "w"), 0).Weights(dtype, kCount, bytes.data());
    types.emplace_back(kCount);
    ASSERT_TRUE(ReadRows({dtype, {}, bytes}, {.rows = 1, .columns = kCount},
                         {0, 1}, types.back().data())
                    .ok());
  }
  EXPECT_EQ(types[0], types[1]);
  EXPECT_EQ(types[0], types[2]);
  double sum = 0;
  double squares = 0;
  for (const float weight : types[0]) {
    ASSERT_TRUE(std::fabs(weight) >= 1 / 128.0F &&
                std::fabs(weight) < 1 / 8.0F);
    sum += weight;
    squares += weight * weight;
  }
  // The mean is known to 0.0001, the root of the mean square to half a
  // hundredth of itself; the seed is fixed.
  EXPECT_NEAR(sum / kCount, 0, 0.0005);
  EXPECT_NEAR(std::sqrt(squares / kCount), 0.032, 0.0005);
}

TEST(GrowNoise, DiffersBySeedTensorAndRow) {
  const auto first = [](std::uint64_t seed, const char* tensor, int row) {
    std::vector<std::byte> bytes(16);
    Noise(Noise::Key(seed, tensor), row).Weights(DType::kBf16, 8, bytes.data());
    return bytes;
  };
  std::set<std::vector<std::byte>> all;
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    for (const char* tensor : {"a", "b", "ab", ""})
      for (int row = 0; row < 50; ++row) all.insert(first(seed, tensor, row));
  EXPECT_EQ(all.size(), 5u * 4 * 50);
}

// The published test vector.
TEST(Fnv1a, IsThePublishedOne) {
  EXPECT_EQ(Fnv1a(Bytes("")), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a(Bytes("foobar")), 0x85944171f73967e8u);
  EXPECT_EQ(Fnv1a(Bytes("bar"), Fnv1a(Bytes("foo"))), Fnv1a(Bytes("foobar")));
}

TEST(OutputFolder, GoesWithEverythingInItUnlessItIsKept) {
  const TestFolder outer;
  const std::string path = outer.path() + "/a/b";
  for (bool kept : {false, true}) {
    auto folder = OutputFolder::Make(path);
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE((*folder)->Write("x.json", "{}").ok());
    ASSERT_TRUE((*folder)->CopyIfThere(path, "none.json").ok());
    ASSERT_TRUE((*folder)->CopyIfThere("tests", "CMakeLists.txt").ok());
    if (kept) (*folder)->Keep();
    folder->reset();
    EXPECT_EQ(std::filesystem::exists(path), kept);
    EXPECT_EQ(std::filesystem::exists(path + "/CMakeLists.txt"), kept);
  }
  const absl::Status used = OutputFolder::Make(path).status();
  EXPECT_TRUE(absl::IsInvalidArgument(used));
  EXPECT_THAT(std::string(used.message()),
              HasSubstr("expected an empty folder"));
  EXPECT_TRUE(std::filesystem::exists(path + "/x.json"));
}

TEST(OutputFolder, TakesOverWhatAKilledProcessLeft) {
  const TestFolder folder;
  folder.Write("model-00001-of-00002.safetensors", "half a model");
  folder.Write("model-00002-of-00002.safetensors.partial", "half a fi");
  EXPECT_FALSE(OutputFolder::Make(folder.path()).ok());
  folder.Write("unfinished.partial", "");
  {
    const auto again = OutputFolder::Make(folder.path());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_THAT(
        std::string(OutputFolder::Make(folder.path()).status().message()),
        HasSubstr("another process is writing"));
    ASSERT_TRUE((*again)->Write("x.json", "{}").ok());
    (*again)->Keep();
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  EXPECT_EQ(names, std::vector<std::string>{"x.json"});
}

TEST(OutputFolder, SaysWhatCannotBe) {
  const TestFolder outer;
  const std::string file = outer.Write("file", "text");
  EXPECT_TRUE(absl::IsInvalidArgument(OutputFolder::Make(file).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(OutputFolder::Make(file + "/below").status()));
  const auto folder = OutputFolder::Make(outer.path() + "/new");
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_TRUE((*folder)->RequireSpace(1).ok());
  EXPECT_THAT(
      std::string((*folder)->RequireSpace(std::int64_t{1} << 60).message()),
      HasSubstr("are to be written, the disk has"));
  EXPECT_TRUE(absl::IsInvalidArgument((*folder)->Write("no/such", "text")));
}

}  // namespace
}  // namespace banyan
