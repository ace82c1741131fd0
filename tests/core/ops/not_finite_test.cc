// What is not finite is not lost (backend.h): a NaN or infinity in any number
// that an op reads comes out as one, on every backend, and so does a sum that
// leaves the range of a float, unless the op gives the numbers that the
// reference, whose sums are in double, gives too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kHuge = 0x1.fep127F;
constexpr int kRows = 3;
constexpr int kColumns = 71;  // three blocks of 32, and an odd one

using Inputs = std::vector<Numbers>;

// An op, what it reads, and what it then writes.
struct Op {
  std::string name;
  Inputs inputs;
  std::function<Numbers(Backend&, const Inputs&)> run;
};

Numbers Finished(const absl::Status& status, Desk& desk, const Tensor& y) {
  EXPECT_TRUE(status.ok()) << status;
  return desk.Take(y);
}

Op NormOp(bool center, Dice& dice) {
  const auto run = [center](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    const Tensor y = desk.Room(kRows, kColumns);
    return Finished(backend.Norm({.x = desk.Put(in[0]),
                                  .weight = desk.Put(in[1]),
                                  .bias = desk.Put(in[2]),
                                  .epsilon = 1e-5F,
                                  .center = center,
                                  .y = y}),
                    desk, y);
  };
  return {
      center ? "layer norm" : "norm",
      {SoftNumbers(kRows, kColumns, 2, dice), SoftNumbers(1, kColumns, 2, dice),
       SoftNumbers(1, kColumns, 2, dice)},
      run};
}

Op LinearOp(WeightFormat format, Dice& dice) {
  constexpr int kOut = 19;
  const auto weight = std::make_shared<Everywhere>(
      format, SoftNumbers(kOut, kColumns, 2, dice));
  const auto run = [weight](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    const Tensor y = desk.Put(in[2]);
    return Finished(backend.Linear({.x = desk.Put(in[0]),
                                    .weight = weight->On(backend),
                                    .bias = desk.Put(in[1]),
                                    .y = y,
                                    .add = true}),
                    desk, y);
  };
  return {absl::StrCat("linear ", Name(format)),
          {SoftNumbers(kRows, kColumns, 2, dice), SoftNumbers(1, kOut, 2, dice),
           SoftNumbers(kRows, kOut, 2, dice)},
          run};
}

Op RotateOp(bool norm, Dice& dice) {
  constexpr int kHead = 10;
  const auto run = [norm](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    const Tensor x = desk.Put(in[0]);
    RotateArgs args = {.x = x,
                       .head_dim = kHead,
                       .angles = desk.Put(in[1]),
                       .epsilon = 1e-5F,
                       .scale = 0.3F};
    if (norm) args.norm_weight = desk.Put(in[2]);
    return Finished(backend.Rotate(args), desk, x);
  };
  Op op = {norm ? "rotate with norm" : "rotate",
           {SoftNumbers(kRows, 3 * kHead, 2, dice),
            SoftNumbers(kRows, kHead, 1, dice)},
           run};
  if (norm) op.inputs.push_back(SoftNumbers(1, kHead, 2, dice));
  return op;
}

Op ActivateOp(Nonlinearity function, Dice& dice) {
  const auto run = [function](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    const Tensor y = desk.Room(kRows, kColumns);
    return Finished(backend.Activate({.function = function,
                                      .x = desk.Put(in[0]),
                                      .up = desk.Put(in[1]),
                                      .y = y}),
                    desk, y);
  };
  return {function == Nonlinearity::kSilu ? "silu" : "gelu",
          {SoftNumbers(kRows, kColumns, 2, dice),
           SoftNumbers(kRows, kColumns, 2, dice)},
          run};
}

Op EmbedOp(Dice& dice) {
  // The rows added are as large as what they are added to can become.
  Numbers rows = SoftNumbers(kRows, kColumns, 1, dice);
  for (float& number : rows.data) number = std::copysign(kHuge, number);
  const auto table =
      std::make_shared<Everywhere>(WeightFormat::kF32, std::move(rows));
  const auto run = [table](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    const Tensor y = desk.Put(in[0]);
    return Finished(backend.Embed({.ids = desk.List({2, 0, 1}),
                                   .table = table->On(backend),
                                   .y = y,
                                   .add = true}),
                    desk, y);
  };
  return {"embed", {SoftNumbers(kRows, kColumns, 2, dice)}, run};
}

// Queries of three tokens in a row after a prefix: the last sees every slot.
Op AttentionOp(Dice& dice) {
  constexpr int kHeads = 2;
  constexpr int kKvHeads = 1;
  constexpr int kSize = 10;
  constexpr int kCommitted = 17;
  const auto run = [](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    KvCache cache = {.kv_heads = kKvHeads, .head_dim = kSize};
    EXPECT_TRUE(backend.ReserveKv(cache, kCommitted + kRows, 0).ok());
    const auto store = [&](const Numbers& keys, const Numbers& values, int at) {
      EXPECT_TRUE(backend
                      .StoreKv({{.keys = desk.Put(keys),
                                 .values = desk.Put(values),
                                 .cache = &cache,
                                 .first_slot = at}})
                      .ok());
    };
    store(in[1], in[2], 0);
    store(in[3], in[4], kCommitted);
    const Tensor y = desk.Room(kRows, kHeads * kSize);
    return Finished(backend.Attention({{.queries = desk.Put(in[0]),
                                        .heads = kHeads,
                                        .prefix = &cache,
                                        .committed = kCommitted,
                                        .pending = &cache,
                                        .pending_slot = kCommitted,
                                        .first_pending = 0,
                                        .visible = desk.List({1, 3, 7}),
                                        .visible_words = 1,
                                        .y = y}}),
                    desk, y);
  };
  const auto kv = [&](int rows) {
    return SoftNumbers(rows, kKvHeads * kSize, 2, dice);
  };
  return {"attention",
          {SoftNumbers(kRows, kHeads * kSize, 2, dice), kv(kCommitted),
           kv(kCommitted), kv(kRows), kv(kRows)},
          run};
}

Op AttentionMassOp(Dice& dice) {
  constexpr int kHeads = 2;
  constexpr int kSize = 10;
  constexpr int kCommitted = 17;
  constexpr int kChunk = 5;
  const auto run = [](Backend& backend, const Inputs& in) {
    Desk desk(backend);
    KvCache cache = {.kv_heads = 1, .head_dim = kSize};
    EXPECT_TRUE(backend.ReserveKv(cache, kCommitted, 0).ok());
    EXPECT_TRUE(backend
                    .StoreKv({{.keys = desk.Put(in[1]),
                               .values = desk.Put(in[1]),
                               .cache = &cache,
                               .first_slot = 0}})
                    .ok());
    const Tensor y = desk.Room(kRows, ChunksOf(kCommitted, kChunk));
    return Finished(backend.AttentionMass({.queries = desk.Put(in[0]),
                                           .heads = kHeads,
                                           .prefix = &cache,
                                           .committed = kCommitted,
                                           .chunk = kChunk,
                                           .y = y}),
                    desk, y);
  };
  return {"attention mass",
          {SoftNumbers(kRows, kHeads * kSize, 2, dice),
           SoftNumbers(kCommitted, kSize, 2, dice)},
          run};
}

std::vector<Op> Ops() {
  Dice dice(1);
  return {NormOp(false, dice),
          NormOp(true, dice),
          LinearOp(WeightFormat::kF32, dice),
          LinearOp(WeightFormat::kBf16, dice),
          LinearOp(WeightFormat::kQ8, dice),
          RotateOp(false, dice),
          RotateOp(true, dice),
          ActivateOp(Nonlinearity::kSilu, dice),
          ActivateOp(Nonlinearity::kGeluTanh, dice),
          EmbedOp(dice),
          AttentionOp(dice),
          AttentionMassOp(dice)};
}

bool IsFinite(const Numbers& numbers) {
  return std::all_of(numbers.data.begin(), numbers.data.end(),
                     [](float x) { return std::isfinite(x); });
}

// Off by less than a thousandth of the row's largest number, or a twentieth
// where numbers are rounded to bfloat16.
bool IsNear(const Numbers& got, const Numbers& expected, bool rounds) {
  const double near = rounds ? 5e-2 : 1e-3;
  for (int i = 0; i < got.rows; ++i) {
    double most = 1;
    for (int j = 0; j < got.columns; ++j)
      most = std::max(most, std::fabs(double{expected.at(i, j)}));
    for (int j = 0; j < got.columns; ++j)
      if (!(std::fabs(double{got.at(i, j)} - double{expected.at(i, j)}) <=
            near * most))
        return false;
  }
  return true;
}

class NotFinite : public testing::TestWithParam<int> {
 protected:
  const Fleet fleet_;
  const Op op_ = Ops()[static_cast<std::size_t>(GetParam())];
};

TEST_P(NotFinite, NumbersComeOutAsSuch) {
  for (const auto& backend : fleet_.all())
    ASSERT_TRUE(IsFinite(op_.run(*backend, op_.inputs))) << op_.name;
  Tally tally;
  int turn = 0;
  Inputs inputs = op_.inputs;
  for (std::size_t input = 0; input < inputs.size(); ++input)
    for (float& number : inputs[input].data) {
      const float before = number;
      for (const float odd : {kNan, kInfinity, -kInfinity}) {
        if (kSanitized && turn++ % 3 != 0) continue;
        number = odd;
        for (const auto& backend : fleet_.all())
          ASSERT_FALSE(IsFinite(op_.run(*backend, inputs)))
              << op_.name << " on " << backend->description() << ", input "
              << input << ", number " << &number - inputs[input].data.data()
              << " is " << odd;
        tally.Count(CaseResult::kProven);
      }
      number = before;
    }
  ExpectCounts(tally, kSanitized ? 120 : 360);
}

// One number, or all of an input, far too large or nearly so. Counted as proven
// is what overflowed on the cpu, as left out what came out right there.
TEST_P(NotFinite, SumsComeOutAsSuchOrRight) {
  Tally tally;
  const auto expect = [&](const Inputs& inputs, const std::string& what) {
    const Numbers right = op_.run(*fleet_.reference, inputs);
    bool on_cpu = false;
    for (const auto& backend : fleet_.others()) {
      const Numbers got = op_.run(*backend, inputs);
      const bool overflowed = !IsFinite(got);
      const BackendFacts facts = backend->facts();
      on_cpu = on_cpu || (overflowed && facts.device == "cpu");
      ASSERT_TRUE(overflowed ||
                  (IsFinite(right) && IsNear(got, right, facts.rounds_to_bf16)))
          << op_.name << " on " << backend->description() << ", " << what;
    }
    if (on_cpu)
      tally.Count(CaseResult::kProven);
    else
      tally.LeaveOut("the sum stays finite");
  };
  for (const float size : {1e15F, 1e25F, kHuge})
    for (std::size_t input = 0; input < op_.inputs.size(); ++input) {
      Inputs inputs = op_.inputs;
      std::vector<float>& numbers = inputs[input].data;
      for (std::size_t i = 0; i < numbers.size(); i += kSanitized ? 4 : 1) {
        numbers[i] = std::copysign(size, op_.inputs[input].data[i]);
        expect(inputs, absl::StrCat("input ", input, ", number ", i, " is ",
                                    numbers[i]));
        numbers[i] = op_.inputs[input].data[i];
      }
      for (float& number : numbers) number = std::copysign(size, number);
      expect(inputs, absl::StrCat("input ", input, " is full of ", size));
    }
  ExpectCounts(tally, kSanitized ? 8 : 32);
}

INSTANTIATE_TEST_SUITE_P(Ops, NotFinite,
                         testing::Range(0, static_cast<int>(Ops().size())),
                         [](const auto& row) {
                           std::string name =
                               Ops()[static_cast<std::size_t>(row.param)].name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace banyan
