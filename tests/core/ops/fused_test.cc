// Ops that are called at once against the same ops one after another:
// the same bits, on every backend.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::kF32, WeightFormat::kBf16,
                                     WeightFormat::kQ8};

// The product of rows that were made before, in one call and in two.
struct Case {
  Case(WeightFormat format, int some_rows, int some_inner, int outputs,
       Dice& dice)
      : rows(some_rows),
        inner(some_inner),
        weight(format, SoftNumbers(outputs, inner, 1, dice)),
        x(SoftNumbers(rows, inner, 2, dice)),
        other(SoftNumbers(rows, inner, 2, dice)),
        scale(SoftNumbers(1, inner, 1, dice)),
        bias(SoftNumbers(1, outputs, 1, dice)),
        before(SoftNumbers(rows, outputs, 1, dice)),
        after(format, SoftNumbers(5, outputs, 1, dice)),
        gain(SoftNumbers(1, outputs, 1, dice)) {}

  std::string name() const {
    return absl::StrCat(rows, " rows of ", inner, " to ",
                        weight.numbers().rows);
  }

  int rows;
  int inner;
  Everywhere weight;
  Numbers x, other, scale, bias, before;
  Everywhere after;  // reads what `weight` gives
  Numbers gain;
};

using Run = absl::FunctionRef<Numbers(Backend& backend, Desk& desk, Case& test,
                                      bool at_once)>;

void ExpectSame(Run run, int rows_to_try_from) {
  Fleet fleet;
  Dice dice(rows_to_try_from);
  for (WeightFormat format : kFormats)
    for (int rows : {1, 2, 8, 9, 17, 70})
      for (int inner : {16, 40, 96}) {
        Case test(format, rows, inner, dice.OneOf<int>({3, 16, 35}), dice);
        for (const auto& backend : fleet.all()) {
          Desk one(*backend);
          Desk two(*backend);
          EXPECT_TRUE(SameBits(run(*backend, one, test, true),
                               run(*backend, two, test, false)))
              << test.name() << ", format " << static_cast<int>(format) << ", "
              << backend->description();
        }
      }
}

LinearArgs LinearOf(Backend& backend, Desk& desk, Case& test, const Tensor& x) {
  return {.x = x,
          .weight = test.weight.On(backend),
          .bias = desk.Put(test.bias),
          .y = desk.Put(test.before),
          .add = true};
}

void ExpectOk(const absl::Status& status) {
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Fused, NormAndLinear) {
  for (bool center : {false, true})
    ExpectSame(
        [center](Backend& backend, Desk& desk, Case& test, bool at_once) {
          const NormArgs norm = {
              .x = desk.Put(test.x),
              .weight = desk.Put(test.scale),
              .bias = center ? desk.Put(test.scale) : Tensor{},
              .epsilon = 1e-5F,
              .center = center,
              .y = desk.Room(test.rows, test.inner)};
          LinearArgs linear = LinearOf(backend, desk, test, norm.y);
          if (at_once)
            linear.source = norm;
          else
            ExpectOk(backend.Norm(norm));
          ExpectOk(backend.Linear(linear));
          return desk.Take(linear.y);
        },
        center ? 1 : 2);
}

// What a product leaves of the sums of squares is what its rows' norm takes.
TEST(Fused, LinearAndNormAndLinear) {
  ExpectSame(
      [](Backend& backend, Desk& desk, Case& test, bool at_once) {
        LinearArgs first = LinearOf(backend, desk, test, desk.Put(test.x));
        first.squares = desk.Room(test.rows, SquaresColumns(first.y.columns));
        NormArgs norm = {.x = first.y,
                         .weight = desk.Put(test.gain),
                         .bias = {},
                         .epsilon = 1e-5F,
                         .y = desk.Room(test.rows, first.y.columns)};
        ExpectOk(backend.Linear(first));
        const LinearArgs second = {.x = norm.y,
                                   .weight = test.after.On(backend),
                                   .bias = {},
                                   .y = desk.Room(test.rows, 5)};
        LinearArgs normed = second;
        if (at_once) norm.squares = first.squares;
        normed.source = norm;
        ExpectOk(backend.Linear(normed));
        return desk.Take(normed.y);
      },
      6);
}

TEST(Fused, ActivateAndLinear) {
  for (bool gated : {false, true})
    ExpectSame(
        [gated](Backend& backend, Desk& desk, Case& test, bool at_once) {
          const Tensor x = desk.Put(test.x);
          const ActivateArgs activate = {
              .function = gated ? Nonlinearity::kSilu : Nonlinearity::kGeluTanh,
              .x = x,
              .up = gated ? desk.Put(test.other) : Tensor{},
              .y = x};
          LinearArgs linear = LinearOf(backend, desk, test, x);
          if (at_once)
            linear.source = activate;
          else
            ExpectOk(backend.Activate(activate));
          ExpectOk(backend.Linear(linear));
          return desk.Take(linear.y);
        },
        gated ? 3 : 4);
}

// Rotated keys and values in a cache, and what queries read of it, multiplied.
TEST(Fused, RotateStoreAndAttentionLinear) {
  constexpr int kLiveLength = 5;
  for (bool normed : {false, true})
    ExpectSame(
        [normed](Backend& backend, Desk& desk, Case& test, bool at_once) {
          // Heads of a half, sharing one of keys and values.
          const int size = test.inner / 2;
          const Tensor queries = desk.Put(test.x);
          const Tensor keys = desk.Put(test.other).Columns(0, size);
          Numbers turns(test.rows, size);
          for (int row = 0; row < turns.rows; ++row)
            for (int i = 0; i < size / 2; ++i) {
              turns.at(row, i) = 0.6F;
              turns.at(row, size / 2 + i) = 0.8F;
            }
          Numbers weight(1, size);
          for (float& number : weight.data) number = 1.25F;
          const RotateArgs turn_queries = {
              .x = queries,
              .head_dim = size,
              .angles = desk.Put(turns),
              .norm_weight = normed ? desk.Put(weight) : Tensor{},
              .epsilon = 1e-6F,
              .scale = 0.25F};
          RotateArgs turn_keys = turn_queries;
          turn_keys.x = keys;
          turn_keys.scale = 1;
          KvCache cache = {.kv_heads = 1, .head_dim = size};
          ExpectOk(backend.ReserveKv(cache, kLiveLength + test.rows + 3, 0));
          const Live live = {desk.List({kLiveLength}), kLiveLength + 2};
          // What was committed before.
          ExpectOk(backend.StoreKv(
              {{.keys = desk.Put(test.other.Rows(0, 1)).Columns(0, size),
                .values = desk.Put(test.x.Rows(0, 1)).Columns(0, size),
                .cache = &cache,
                .first_slot = 2}}));
          const StoreKvArgs store = {
              .keys = keys,
              .values = desk.Put(test.other).Columns(size, size),
              .cache = &cache,
              .first_slot = 0,
              .length = live};
          const int words = (test.rows + 31) / 32;
          std::vector<int> visible(static_cast<std::size_t>(test.rows * words));
          for (int row = 0; row < test.rows; ++row)
            for (int seen : {0, row / 2, row}) {  // a chain to itself, in part
              int& word = visible[static_cast<std::size_t>(row * words) +
                                  static_cast<std::size_t>(seen / 32)];
              word = static_cast<int>(static_cast<unsigned>(word) |
                                      1U << static_cast<unsigned>(seen % 32));
            }
          const AttentionArgs attention = {
              .queries = queries,
              .heads = 2,
              .prefix = &cache,
              .committed = 0,
              .pending = &cache,
              .pending_slot = 0,
              .first_pending = 0,
              .visible = desk.List(visible),
              .visible_words = words,
              .y = desk.Room(test.rows, test.inner),
              .length = live};
          LinearArgs linear = LinearOf(backend, desk, test, attention.y);
          if (at_once) {
            ExpectOk(
                backend.RotateStore({turn_queries, turn_keys, {&store, 1}}));
            linear.source = absl::MakeConstSpan(&attention, 1);
          } else {
            ExpectOk(backend.Rotate(turn_queries));
            ExpectOk(backend.Rotate(turn_keys));
            ExpectOk(backend.StoreKv({store}));
            ExpectOk(backend.Attention({attention}));
          }
          ExpectOk(backend.Linear(linear));
          return desk.Take(linear.y);
        },
        normed ? 5 : 6);
}

}  // namespace
}  // namespace banyan
