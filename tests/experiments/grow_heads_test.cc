// Medusa heads grown with their target.
#include "experiments/grow/grow_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/model/safetensors.h"
#include "core/model/stored_tensor.h"
#include "core/model/weight_rows.h"
#include "experiments/grow/output_folder.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

using testing::HasSubstr;

constexpr int kHidden = 12;
constexpr int kVocab = 17;
constexpr HeadsGrowth kGrowth = {kHidden, 30, kVocab};

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
Vector Linear(const Safetensors& file, const std::string& name, bool bias,
              const Vector& x) {
  const auto read = [&](const std::string& tensor, std::size_t rows,
                        std::size_t columns) {
    const StoredTensor* stored = file.Find(tensor);
    Check(stored != nullptr, tensor);
    std::vector<float> numbers(rows * columns);
    ReadRows(
        *stored,
        {.rows = static_cast<int>(rows), .columns = static_cast<int>(columns)},
        0, static_cast<int>(rows), numbers.data());
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
std::vector<Vector> Propose(const Safetensors& file, int head,
                            bool own_matrices, Vector x) {
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
                                const HeadsGrowth& growth = kGrowth) {
  const auto folder = OutputFolder::Make(to);
  Check(folder.ok(), folder.status().message());
  auto grown = GrowHeads(from.path(), growth, {}, **folder);
  if (grown.ok()) (*folder)->Keep();
  return grown;
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
  EXPECT_EQ(grown->heads, 3);
  EXPECT_EQ(grown->blocks, 2);
  EXPECT_EQ(grown->own_matrices, own_matrices);
  const auto before = Safetensors::Open(
      from.path() +
      (own_matrices ? "/model.safetensors" : "/medusa_lm_head.safetensors"));
  const auto after = Safetensors::Open(to + "/model.safetensors");
  ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  EXPECT_EQ((*after)->tensors().size(), (*before)->tensors().size());
  Dice dice(6);
  Vector x(kHidden);
  for (double& number : x) number = dice.Signed();
  Vector padded = x;
  padded.resize(30);
  for (int head = 0; head < 3; ++head) {
    std::vector<Vector> expected = Propose(**before, head, own_matrices, x);
    expected[0].resize(30);  // the new coordinates stay zero
    expected[1].resize(30);
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
           {"0.2.weight", "'1.2.weight': is not one of 3 Medusa heads", {}},
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

}  // namespace
}  // namespace banyan
