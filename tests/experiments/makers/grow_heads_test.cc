// Heads grown with their target: Medusa's, and a kind made up here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/checkpoint/weight_rows.h"
#include "drafters/catalogue.h"
#include "drafters/head_tools.h"
#include "experiments/makers/grow/grow_model.h"
#include "experiments/makers/grow/output_folder.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/support/dice.h"
#include "tests/support/made/edited_model.h"

namespace banyan {
namespace {

using testing::HasSubstr;

constexpr int kHidden = 12;
constexpr int kVocab = 17;
constexpr int kGrown = 30;

MadeTensor Random(std::vector<std::int64_t> shape, Dice& dice) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = dice.Signed();
  return {"F32", std::move(shape), Stored(numbers)};
}

// Three heads of two blocks, as they are published.
MadeTensors Heads(bool own_matrices) {
  Dice dice(5);
  MadeTensors tensors;
  for (int head = 0; head < 3; ++head) {
    for (int block = 0; block < 2; ++block) {
      const std::string name = absl::StrCat(head, ".", block, ".linear.");
      tensors[name + "weight"] = Random({kHidden, kHidden}, dice);
      tensors[name + "bias"] = Random({kHidden}, dice);
    }
    if (own_matrices)
      tensors[absl::StrCat(head, ".2.weight")] =
          Random({kVocab, kHidden}, dice);
  }
  return tensors;
}

using Vector = std::vector<double>;

// Rows times x, plus a bias if there is one.
Vector Linear(const TensorFile& file, const std::string& name, bool bias,
              const Vector& x) {
  const auto read = [&](const std::string& tensor, std::size_t rows,
                        std::size_t columns) {
    const StoredTensor* stored = file.Find(tensor);
    Check(stored != nullptr, tensor);
    std::vector<float> numbers(rows * columns);
    const WeightSource source = {.rows = static_cast<int>(rows),
                                 .columns = static_cast<int>(columns)};
    EXPECT_TRUE(
        ReadRows(*stored, source, {0, source.rows}, numbers.data()).ok());
    return numbers;
  };
  const auto rows =
      static_cast<std::size_t>(file.Find(name + "weight")->shape[0]);
  const auto weight = read(name + "weight", rows, x.size());
  Vector y(rows);
  if (bias) {
    const auto biases = read(name + "bias", rows, 1);
    y.assign(biases.begin(), biases.end());
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < x.size(); ++i)
      y[row] += weight[row * x.size() + i] * x[i];
  return y;
}

// After each block of a head, and its logits if it has a matrix.
std::vector<Vector> Propose(const TensorFile& file, int head, bool own_matrices,
                            Vector x) {
  std::vector<Vector> states;
  for (int block = 0; block < 2; ++block) {
    const Vector y =
        Linear(file, absl::StrCat(head, ".", block, ".linear."), true, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += y[i] / (1 + std::exp(-y[i]));
    states.push_back(x);
  }
  if (own_matrices)
    states.push_back(Linear(file, absl::StrCat(head, ".2."), false, x));
  return states;
}

absl::StatusOr<GrownHeads> Grow(const TestFolder& from, const std::string& to,
                                const HeadsGrowth& growth = {
                                    {kHidden, kGrown, kVocab}}) {
  const auto folder = OutputFolder::Make(to);
  Check(folder.ok(), folder.status().message());
  auto grown = GrowHeads(from.path(), growth, {}, **folder);
  if (grown.ok()) (*folder)->Keep();
  return grown;
}

// "heads 3, own yes".
std::string FactsOf(const GrownHeads& grown) {
  return absl::StrJoin(grown.facts, ", ",
                       [](std::string* out, const HeadFact& fact) {
                         const bool* yes = std::get_if<bool>(&fact.value);
                         absl::StrAppend(out, fact.name, " ");
                         if (yes != nullptr)
                           absl::StrAppend(out, *yes ? "yes" : "no");
                         else
                           absl::StrAppend(out, std::get<int>(fact.value));
                       });
}

class GrowHeadsOf : public testing::TestWithParam<bool> {};

// In double, adding zeros changes no sum.
TEST_P(GrowHeadsOf, ProposeTheSame) {
  const bool own_matrices = GetParam();
  const TestFolder from;
  const std::string weights = SafetensorsFile(Heads(own_matrices));
  from.Write(own_matrices ? "model.safetensors" : "medusa_lm_head.safetensors",
             weights);
  from.Write("config.json", R"({"medusa_num_heads": 3, "hidden_size": 12})");
  const std::string to = from.path() + "/grown";
  const auto grown = Grow(from, to);
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_EQ(grown->summary,
            own_matrices
                ? "3 Medusa heads of 2 blocks, each with an output matrix"
                : "3 Medusa heads of 2 blocks, with the model's output matrix");
  EXPECT_EQ(FactsOf(*grown), absl::StrCat("heads 3, blocks 2, own_matrices ",
                                          own_matrices ? "yes" : "no"));
  const auto before = TensorFile::Open(
      from.path() +
      (own_matrices ? "/model.safetensors" : "/medusa_lm_head.safetensors"));
  const auto after = TensorFile::Open(to + "/model.safetensors");
  ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  EXPECT_EQ((*after)->tensors().size(), (*before)->tensors().size());
  Dice dice(6);
  Vector x(kHidden);
  for (double& number : x) number = dice.Signed();
  Vector padded = x;
  padded.resize(kGrown);
  for (int head = 0; head < 3; ++head) {
    std::vector<Vector> expected = Propose(**before, head, own_matrices, x);
    expected[0].resize(kGrown);  // the new coordinates stay zero
    expected[1].resize(kGrown);
    EXPECT_EQ(Propose(**after, head, own_matrices, padded), expected) << head;
  }
  const auto config = nlohmann::json::parse(from.Read("grown/config.json"));
  EXPECT_EQ(config.at("medusa_num_heads"), 3);
  EXPECT_EQ(config.at("hidden_size"), 30);
  EXPECT_EQ(config.at("grown_from").at("hidden_size"), 12);
  EXPECT_EQ(config.at("grown_from").at("name"),
            std::filesystem::path(from.path()).filename().string());
}

INSTANTIATE_TEST_SUITE_P(Layouts, GrowHeadsOf, testing::Bool(),
                         [](const auto& row) {
                           return row.param ? "OwnMatrices" : "TheTargets";
                         });

TEST(GrowHeads, RefusesWhatIsNotTheirLayout) {
  struct Case {
    std::string name;
    std::string reason;
    std::vector<std::int64_t> shape;  // empty: without the tensor
    std::string dtype = "F32";
  };
  for (const Case& bad : std::vector<Case>{
           {"1.1.linear.bias", "'1.1.linear.bias': is missing", {}},
           {"0.0.linear.weight", "'0.0.linear.weight': is missing", {}},
           {"1.0.linear.weight", "'1.0.linear.weight': is missing", {}},
           {"2.2.weight", "'2.2.weight': is missing", {}},
           {"0.2.weight", "'0.2.weight': is missing", {}},
           {"1.0.linear.weight",
            "expected shape [12, 12], found [12, 13]",
            {12, 13}},
           {"1.0.linear.bias", "expected shape [12], found [13]", {13}},
           {"1.2.weight", "expected shape [17, 12], found [16, 12]", {16, 12}},
           {"4.0.linear.bias", "'3.0.linear.weight': is missing", {12}},
           {"1.3.weight",
            "'1.3.weight': is not one of 3 Medusa heads of 2",
            {17, 12}},
           {"fc.weight",
            "'fc.weight': expected the name of a Medusa head's",
            {12}},
           {"99999.0.linear.bias",
            "expected the name of a Medusa head's",
            {12}},
           {"1.0.linear.bias",
            "expected F32, F16 or BF16, found I32",
            {12},
            "I32"}}) {
    const TestFolder from;
    from.Write("config.json", "{}");
    MadeTensors tensors = Heads(true);
    tensors.erase(bad.name);
    Dice dice(1);
    if (!bad.shape.empty()) {
      tensors[bad.name] = Random(bad.shape, dice);
      tensors[bad.name].dtype = bad.dtype;
    }
    from.Write("model.safetensors", SafetensorsFile(tensors));
    const absl::Status status = Grow(from, from.path() + "/grown").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad.reason;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr(bad.reason),
                               HasSubstr("/model.safetensors: tensor ")));
    EXPECT_FALSE(std::filesystem::exists(from.path() + "/grown"));
  }
}

TEST(GrowHeads, SaysWhichFileIsMissingOrGrownAlready) {
  const TestFolder from;
  const auto refusal = [&] {
    return std::string(Grow(from, from.path() + "/grown").status().message());
  };
  EXPECT_THAT(refusal(), HasSubstr("config.json: No such file"));
  from.Write("config.json", "{}");
  EXPECT_THAT(refusal(), HasSubstr("medusa_lm_head.safetensors"));
  from.Write("model.safetensors", SafetensorsFile(MadeTensors()));
  EXPECT_THAT(refusal(), HasSubstr("0.0.linear.weight"));
  from.Write("config.json", R"({"grown_from": {"name": "a"}})");
  EXPECT_THAT(refusal(), HasSubstr("config.json: grown_from: the heads are"));
}

// Before anything is written: what would be is refused by whoever reads it.
TEST(GrowHeads, RefusesANumberThatIsNone) {
  const TestFolder from;
  MadeTensors heads = Heads(/*own_matrices=*/true);
  SetNumber(heads.at("1.0.linear.weight"), kHidden + 2, std::nanf(""));
  from.Write("model.safetensors", SafetensorsFile(heads));
  from.Write("config.json", R"({"medusa_num_heads": 3, "hidden_size": 12})");
  const absl::Status status = Grow(from, from.path() + "/grown").status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat(from.path(),
                                     ": tensor '1.0.linear.weight': row 1, "
                                     "column 2: expected a finite number, "
                                     "found nan")));
  EXPECT_FALSE(
      std::filesystem::exists(from.path() + "/grown/model.safetensors"));
}

// A second kind of heads: one matrix over an embedding beside a hidden state,
// and one from it to a size of their own, with a bias.
absl::StatusOr<GrowableHeads> OpenPair(const std::string& directory,
                                       const GrowingTarget& target) {
  BANYAN_ASSIGN_OR_RETURN(
      std::shared_ptr<const TensorFile> file,
      TensorFile::Open(absl::StrCat(directory, "/model.safetensors")));
  if (file->Find("pair.weight") == nullptr)
    return absl::InvalidArgumentError("expected a tensor 'pair.weight'");
  Check(file->Find("pair.weight")->shape[1] == 2 * target.hidden_size,
        "a pair");
  GrowableHeads heads = {.file = file,
                         .tensors = {{"pair.weight", *file->Find("pair.weight"),
                                      target.States(1), target.States(2)},
                                     {"own.weight",
                                      *file->Find("own.weight"),
                                      {},
                                      target.States(1)},
                                     {"own.bias", *file->Find("own.bias")}},
                         .summary = "a pair",
                         .facts = {{"states", 2}, {"own", true}}};
  return heads;
}

std::vector<DrafterRow> WithPairs() {
  std::vector<DrafterRow> rows(DrafterCatalogue().begin(),
                               DrafterCatalogue().end());
  DrafterRow& row = rows.emplace_back();
  row.name = "pair";
  row.heads.growable = OpenPair;
  return rows;
}

TEST(GrowHeads, GrowsAnotherKindThatOnlyItsRowKnows) {
  const TestFolder from;
  from.Write("config.json", "{}");
  Dice dice(7);
  from.Write("model.safetensors",
             SafetensorsFile({{"pair.weight", Random({kHidden, 24}, dice)},
                              {"own.weight", Random({5, kHidden}, dice)},
                              {"own.bias", Random({5}, dice)}}));
  const std::vector<DrafterRow> rows = WithPairs();
  const std::string to = from.path() + "/grown";
  const auto grown = Grow(from, to, {{kHidden, kGrown, kVocab}, rows});
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_EQ(grown->summary, "a pair");
  EXPECT_EQ(FactsOf(*grown), "states 2, own yes");
  EXPECT_EQ(grown->bytes, (kGrown * 2 * kGrown + 5 * kGrown + 5) * 4);
  const auto before = TensorFile::Open(from.path() + "/model.safetensors");
  const auto after = TensorFile::Open(to + "/model.safetensors");
  ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  Vector x(2 * kHidden);
  for (double& number : x) number = dice.Signed();
  Vector padded(2 * kGrown);  // each of the two is followed by zeros
  for (int i = 0; i < kHidden; ++i)
    for (int state : {0, 1})
      padded[static_cast<std::size_t>(state * kGrown + i)] =
          x[static_cast<std::size_t>(state * kHidden + i)];
  const Vector y = Linear(**before, "pair.", false, x);
  Vector expected = y;
  expected.resize(kGrown);
  const Vector grown_y = Linear(**after, "pair.", false, padded);
  EXPECT_EQ(grown_y, expected);
  EXPECT_EQ(Linear(**after, "own.", true, grown_y),
            Linear(**before, "own.", true, y));
}

TEST(GrowHeads, SaysWhatEveryDrafterExpected) {
  const TestFolder from;
  from.Write("config.json", "{}");
  from.Write("model.safetensors", SafetensorsFile(MadeTensors()));
  const std::vector<DrafterRow> rows = WithPairs();
  const absl::Status status =
      Grow(from, from.path() + "/grown", {{kHidden, kGrown, kVocab}, rows})
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(
          HasSubstr("no drafter can read the heads: as those of medusa, "),
          HasSubstr("tensor '0.0.linear.weight': is missing; as those of "
                    "eagle, such a head grows with its target; as those of "
                    "pair, expected a tensor 'pair.weight'")));
}

}  // namespace
}  // namespace banyan
