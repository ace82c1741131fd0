// What is no number is an error: a weight that is NaN or infinite when the
// model is loaded, and a sum that overflows in a pass when its logits are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/ops/weight.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "tests/core/checkpoint/files.h"
#include "tests/support/dice.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr WeightFormat kFormats[] = {WeightFormat::kF32, WeightFormat::kBf16,
                                     WeightFormat::kQ8, WeightFormat::kQ4};

std::shared_ptr<Backend> OpenNotFinite(const std::string& device) {
  DeviceOptions options;
  if (device == "cpu") options.threads = 1;
  auto backend = OpenDevice(device, options);
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

absl::StatusOr<std::unique_ptr<Transformer>> LoadNotFinite(
    const EditedModel& model, WeightFormat format,
    std::shared_ptr<Backend> backend) {
  BANYAN_ASSIGN_OR_RETURN(const auto checkpoint,
                          Checkpoint::Open(model.path()));
  return Transformer::Load(*checkpoint, {.format = format}, std::move(backend));
}

// Where number `at` stands, as errors say it.
std::string PlaceOf(const MadeTensor& tensor, std::int64_t at) {
  const std::int64_t columns = tensor.shape.size() == 1 ? 1 : tensor.shape[1];
  return absl::StrCat("row ", at / columns, ", column ", at % columns, ": ");
}

class NotFinite : public testing::TestWithParam<std::string> {
 protected:
  // Calls `visit` with every tensor of the model and the file it stands in.
  // Changes that it makes are undone.
  template <typename Visit>
  void ForEachTensor(Visit visit) {
    for (auto& [file, tensors] : model_.files()) {
      for (auto& [name, tensor] : tensors) {
        const MadeTensor before = tensor;
        visit(file, name, tensor);
        tensor = before;
      }
      model_.Write(file);
    }
  }

  EditedModel model_{GoldenFolder(GetParam())};
  Dice dice_{7};
};

// Every tensor of every family, in every format, each with a NaN and both
// infinities somewhere; and what a bfloat16 would round to infinity.
TEST_P(NotFinite, WeightsAreRefusedByFileTensorPlaceAndValue) {
  const std::shared_ptr<Backend> backend = OpenNotFinite("cpu");
  Tally tally;
  ForEachTensor([&](const std::string& file, const std::string& name,
                    MadeTensor& tensor) {
    for (const WeightFormat format : kFormats)
      for (const float value : {kNan, kInfinity, -kInfinity}) {
        const MadeTensor before = tensor;
        const auto at = static_cast<std::int64_t>(
            dice_.Below(static_cast<int>(CountOf(tensor))));
        SetNumber(tensor, at, value);
        model_.Write(file);
        tensor = before;
        const absl::Status status =
            LoadNotFinite(model_, format, backend).status();
        ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
        ASSERT_EQ(status.message(),
                  absl::StrCat(model_.path(), "/", file, ": tensor '", name,
                               "': ", PlaceOf(tensor, at),
                               "expected a finite number, found ", value))
            << Name(format);
        tally.Count(CaseResult::kProven);
      }
  });
  EXPECT_TRUE(LoadNotFinite(model_, WeightFormat::kQ8, backend).ok());
  ExpectCounts(tally, 189);
}

TEST_P(NotFinite, WeightsThatAreTooLargeForBf16AreRefusedThere) {
  const std::shared_ptr<Backend> backend = OpenNotFinite("cpu");
  Tally tally;
  // The largest that rounds down to the largest bfloat16, and the next.
  const float fits = 0x1.fefffep127F;
  const float too_large = -0x1.ffp127F;
  ForEachTensor([&](const std::string& file, const std::string& name,
                    MadeTensor& tensor) {
    const auto count = static_cast<std::size_t>(CountOf(tensor));
    tensor = {"F32", tensor.shape, Stored(std::vector<float>(count))};
    const auto load = [&](float value, WeightFormat format) {
      SetNumber(tensor, CountOf(tensor) - 1, value);
      model_.Write(file);
      return LoadNotFinite(model_, format, backend).status();
    };
    EXPECT_TRUE(load(fits, WeightFormat::kBf16).ok()) << name;
    EXPECT_TRUE(load(too_large, WeightFormat::kF32).ok()) << name;
    EXPECT_TRUE(load(too_large, WeightFormat::kQ8).ok()) << name;
    const absl::Status status = load(too_large, WeightFormat::kBf16);
    const bool stays_f32 =
        tensor.shape.size() == 1 || absl::StrContains(name, "wpe.");
    EXPECT_EQ(status.ok(), stays_f32) << name << ": " << status;
    const std::string refusal = absl::StrCat(
        "tensor '", name, "': ", PlaceOf(tensor, CountOf(tensor) - 1),
        "expected a number that bf16 can hold, found -3.39");
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(stays_f32 ? "" : refusal));
    if (stays_f32)
      tally.LeaveOut("kept as f32");
    else
      tally.Count(CaseResult::kProven);
  });
  ExpectCounts(tally, 9);
}

// What reading says of the last of three tokens: of its logits, where Law(),
// Best() and Read() must agree on whether there is something to read, and of
// its hidden state.
struct LastRow {
  absl::Status logits;
  absl::Status hidden;
};

LastRow ReadLast(const Transformer& model) {
  const auto session = model.NewSession();
  const TokenBatch batch = ChainAfter(*session, {1, 5, 2});
  const ScoreRequest request = {session.get(), &batch, {kAfterFinalNorm}};
  const auto scores = model.Score({&request, 1});
  if (!scores.ok()) return {scores.status(), scores.status()};
  const Scores& rows = *scores->front();
  const int last = batch.size() - 1;
  std::vector<float> hidden(static_cast<std::size_t>(model.hidden_size()));
  const LastRow row = {rows.Law(last, SamplingRule(), {}, {}).status(),
                       rows.ReadHidden(0, last, absl::MakeSpan(hidden))};
  const SamplingRule greedy({.temperature = 0});
  std::vector<double> logits;
  EXPECT_EQ(rows.Law(last, greedy, {}, {}).status(), row.logits);
  EXPECT_EQ(rows.Best(last, 1).status(), row.logits);
  EXPECT_EQ(rows.Best(last, 7).status(), row.logits);
  EXPECT_EQ(rows.Read(last, logits), row.logits);
  return row;
}

// Every tensor in turn is filled with numbers that are finite and as large as
// there are. Then the embedding overflows in a norm's squares, a norm's weight
// in its product, a matrix in its sums, a bias in a product of query and key or
// in the mean of the values, and so on. The reference sums in double, and so
// comes through a few of them with numbers that are right.
TEST_P(NotFinite, SumsThatOverflowAreNoText) {
  Tally tally;
  for (const std::string device : {"cpu", "reference"}) {
    const std::shared_ptr<Backend> backend = OpenNotFinite(device);
    ForEachTensor([&](const std::string& file, const std::string& name,
                      MadeTensor& tensor) {
      std::vector<float> huge(static_cast<std::size_t>(CountOf(tensor)));
      for (float& number : huge)
        number = dice_.OneIn(2) ? 0x1.fep127F : -0x1.fep127F;
      tensor.dtype = "F32";
      tensor.data = Stored(huge);
      model_.Write(file);
      for (const WeightFormat format : kFormats) {
        const auto model = LoadNotFinite(model_, format, backend);
        if (format == WeightFormat::kQ4 &&
            !model.ok()) {  // no half is so large
          EXPECT_THAT(std::string(model.status().message()),
                      HasSubstr("expected a number that q4 can hold"));
          continue;
        }
        ASSERT_TRUE(model.ok()) << model.status();
        const auto [status, hidden] = ReadLast(**model);
        SCOPED_TRACE(absl::StrCat(name, ", ", Name(format), ", ", device));
        if (device == "cpu") {
          EXPECT_FALSE(status.ok());
          // These two leave a state that the head's sums then overflow with.
          EXPECT_EQ(hidden.ok(), absl::EndsWith(name, "lm_head.weight") ||
                                     absl::EndsWith(name, "ln_f.bias"));
        }
        if (!status.ok()) {
          EXPECT_THAT(std::string(status.message()),
                      AllOf(HasSubstr("the logit of token "),
                            HasSubstr("expected a number")));
        }
        if (!hidden.ok()) {
          EXPECT_THAT(std::string(hidden.message()),
                      AllOf(HasSubstr(" of a hidden state is "),
                            HasSubstr("expected a finite number")));
        }
        if (status.ok())
          tally.LeaveOut("no logit depends on it alone");
        else
          tally.Count(CaseResult::kProven);
      }
    });
  }
  ExpectCounts(tally, 123);
}

INSTANTIATE_TEST_SUITE_P(Goldens, NotFinite, testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
