// What follows a product, done with it and after it: the same bits, on every
// backend.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/span.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"

namespace banyan {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::kF32, WeightFormat::kBf16,
                                     WeightFormat::kQ8};
constexpr int kInner = 40;

void ExpectOk(const absl::Status& status) {
  EXPECT_TRUE(status.ok()) << status;
}

struct GateCase {
  int gates;
  bool gated;
  bool biased;
  int rows;
};

// `weight` has the rows of the activation side by side, or, where it is done
// after the product, as they come.
Numbers Activated(Backend& backend, const GateCase& test, Everywhere& weight,
                  const Numbers& x, const Numbers& bias, bool at_once) {
  Desk desk(backend);
  const Tensor both = desk.Room(test.rows, weight.numbers().rows);
  const ActivateArgs activate = {
      .function = test.gated ? Nonlinearity::kSilu : Nonlinearity::kGeluTanh,
      .x = both.Columns(0, test.gates),
      .up = test.gated ? both.Columns(test.gates, test.gates) : Tensor{},
      .y = desk.Room(test.rows, test.gates)};
  LinearArgs linear = {.x = desk.Put(x),
                       .weight = weight.On(backend),
                       .bias = test.biased ? desk.Put(bias) : Tensor{},
                       .y = both};
  if (at_once) linear.then = activate;
  ExpectOk(backend.Linear(linear));
  if (!at_once) ExpectOk(backend.Activate(activate));
  return desk.Take(activate.y);
}

TEST(ProductEnd, ActivatesWhatItMultiplied) {
  Fleet fleet;
  Dice dice(21);
  for (WeightFormat format : kFormats)
    for (const GateCase& test :
         {GateCase{35, true, true, 1}, GateCase{3, true, false, 9},
          GateCase{48, true, true, 64}, GateCase{35, false, true, 9},
          GateCase{16, false, false, 64}, GateCase{7, false, true, 1}}) {
      const int outputs = test.gated ? 2 * test.gates : test.gates;
      const Numbers numbers = SoftNumbers(outputs, kInner, 1, dice);
      Everywhere plain(format, numbers);
      Everywhere paired(
          format, numbers,
          test.gated ? RowPairs{test.gates, test.gates} : RowPairs{});
      const Numbers x = SoftNumbers(test.rows, kInner, 2, dice);
      const Numbers bias = SoftNumbers(1, outputs, 1, dice);
      for (const auto& backend : fleet.all())
        EXPECT_TRUE(SameBits(Activated(*backend, test, paired, x, bias, true),
                             Activated(*backend, test, plain, x, bias, false)))
            << backend->description() << ", " << Name(format) << ", "
            << test.gates << " gates, " << test.rows << " rows";
    }
}

struct StoreCase {
  int head_dim;
  int heads;
  int kv_heads;
  bool turned;
  bool normed;
  std::vector<int> rows;  // of each sequence
};

// What queries see of the keys and values that were stored: each row all of its
// sequence's rows up to itself, and what was committed before.
Numbers Stored(Backend& backend, const StoreCase& test, Everywhere& weight,
               const Numbers& x, const Numbers& bias, bool at_once) {
  constexpr int kCommitted = 5;
  Desk desk(backend);
  int rows = 0;
  for (int some : test.rows) rows += some;
  const int queries = test.heads * test.head_dim;
  const int keys = test.kv_heads * test.head_dim;
  const Tensor projected = desk.Room(rows, queries + 2 * keys);
  Numbers angles(rows, test.head_dim);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < test.head_dim / 2; ++i) {
      angles.at(row, i) = row % 2 == 0 ? 0.6F : -0.28F;
      angles.at(row, test.head_dim / 2 + i) = row % 2 == 0 ? 0.8F : 0.96F;
    }
  Numbers gain(1, test.head_dim);
  for (float& number : gain.data) number = 1.25F;
  RotateStoreArgs store = {
      .queries = {.x = projected.Columns(0, queries),
                  .head_dim = test.head_dim,
                  .angles = test.turned ? desk.Put(angles) : Tensor{},
                  .norm_weight = test.normed ? desk.Put(gain) : Tensor{},
                  .epsilon = 1e-6F,
                  .scale = 0.3F}};
  store.keys = store.queries;
  store.keys.x = projected.Columns(queries, keys);
  store.keys.scale = 1;
  std::vector<KvCache> caches(test.rows.size());
  std::vector<StoreKvArgs> stores;
  std::vector<AttentionArgs> attentions;
  const Tensor seen = desk.Room(rows, queries);
  Dice dice(22);
  int first = 0;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const int own = test.rows[i];
    caches[i].kv_heads = test.kv_heads;
    caches[i].head_dim = test.head_dim;
    ExpectOk(backend.ReserveKv(caches[i], kCommitted + own + 1, 0));
    const Tensor before = desk.Put(SoftNumbers(kCommitted, keys, 1, dice));
    ExpectOk(backend.StoreKv({{.keys = before,
                               .values = before,
                               .cache = &caches[i],
                               .first_slot = 0}}));
    const Tensor part = projected.Rows(first, own);
    stores.push_back({.keys = part.Columns(queries, keys),
                      .values = part.Columns(queries + keys, keys),
                      .cache = &caches[i],
                      .first_slot = kCommitted});
    const int words = (own + 31) / 32;
    std::vector<int> visible(static_cast<std::size_t>(own * words));
    for (int row = 0; row < own; ++row)
      for (int other = 0; other <= row; ++other)
        visible[static_cast<std::size_t>(row * words + other / 32)] |=
            static_cast<int>(1U << static_cast<unsigned>(other % 32));
    attentions.push_back({.queries = part.Columns(0, queries),
                          .heads = test.heads,
                          .prefix = &caches[i],
                          .committed = kCommitted,
                          .pending = &caches[i],
                          .pending_slot = kCommitted,
                          .first_pending = 0,
                          .visible = desk.List(visible),
                          .visible_words = words,
                          .y = seen.Rows(first, own)});
    first += own;
  }
  store.sequences = stores;
  LinearArgs linear = {.x = desk.Put(x),
                       .weight = weight.On(backend),
                       .bias = desk.Put(bias),
                       .y = projected};
  if (at_once) linear.then = store;
  ExpectOk(backend.Linear(linear));
  if (!at_once) {
    ExpectOk(backend.Rotate(store.queries));
    ExpectOk(backend.Rotate(store.keys));
    ExpectOk(backend.StoreKv(stores));
  }
  ExpectOk(backend.Attention(attentions));
  return desk.Take(seen);
}

TEST(ProductEnd, TurnsAndStoresWhatItMultiplied) {
  Fleet fleet;
  Dice dice(23);
  const std::vector<StoreCase> tests = {
      {8, 3, 1, true, false, {1}},          {20, 2, 2, true, false, {3, 1, 5}},
      {12, 4, 2, true, false, {20, 1, 43}}, {16, 2, 1, false, false, {9}},
      {10, 2, 1, false, false, {2, 3, 4}},  {6, 2, 1, true, false, {9}},
      {8, 2, 1, true, true, {3, 1, 5}},     {64, 1, 1, true, false, {64}}};
  for (WeightFormat format : kFormats)
    for (const StoreCase& test : tests) {
      int rows = 0;
      for (int some : test.rows) rows += some;
      const int outputs = (test.heads + 2 * test.kv_heads) * test.head_dim;
      const Numbers numbers = SoftNumbers(outputs, kInner, 1, dice);
      const int half = test.head_dim / 2;
      Everywhere plain(format, numbers);
      Everywhere paired(
          format, numbers,
          test.turned ? RowPairs{(test.heads + test.kv_heads) * half, half}
                      : RowPairs{});
      const Numbers x = SoftNumbers(rows, kInner, 2, dice);
      const Numbers bias = SoftNumbers(1, outputs, 1, dice);
      for (const auto& backend : fleet.all())
        EXPECT_TRUE(SameBits(Stored(*backend, test, paired, x, bias, true),
                             Stored(*backend, test, plain, x, bias, false)))
            << backend->description() << ", " << Name(format) << ", heads of "
            << test.head_dim << ", " << rows << " rows of " << test.rows.size()
            << " sequences";
    }
}

// More sequences than a launch knows are stored after the product.
TEST(ProductEnd, StoresForManySequences) {
  Fleet fleet;
  Dice dice(24);
  const StoreCase test = {8, 2, 1, true, false, std::vector<int>(11, 1)};
  const Numbers numbers = SoftNumbers(32, kInner, 1, dice);
  Everywhere plain(WeightFormat::kBf16, numbers);
  Everywhere paired(WeightFormat::kBf16, numbers, {12, 4});
  const Numbers x = SoftNumbers(11, kInner, 2, dice);
  const Numbers bias = SoftNumbers(1, 32, 1, dice);
  for (const auto& backend : fleet.all())
    EXPECT_TRUE(SameBits(Stored(*backend, test, paired, x, bias, true),
                         Stored(*backend, test, plain, x, bias, false)))
        << backend->description();
}

Numbers Product(WeightFormat format, const Numbers& weight, const Numbers& x,
                int block_shared_bytes) {
  auto backend = CudaBackend::Create(
      std::make_shared<HostDevice>(
          HostDeviceOptions{.block_shared_bytes = block_shared_bytes}),
      on_host::kOpKernels, "emulated_gpu");
  Check(backend.ok(), backend.status().message());
  Everywhere everywhere(format, weight);
  Desk desk(**backend);
  const Tensor y = desk.Room(x.rows, weight.rows);
  ExpectOk((*backend)->Linear({.x = desk.Put(x),
                               .weight = everywhere.On(**backend),
                               .bias = {},
                               .y = y}));
  return desk.Take(y);
}

// A smaller GPU has shorter rings, and computes the same; blocks of many rows
// of the weight compute what those of few do.
TEST(ProductRing, FitsTheSmallestGpu) {
  Dice dice(25);
  struct Shape {
    int rows, outputs;
  };
  for (WeightFormat format : {WeightFormat::kBf16, WeightFormat::kQ8})
    for (const Shape& shape :
         {Shape{1, 48}, Shape{9, 48}, Shape{17, 48}, Shape{33, 48},
          Shape{1, 4096}, Shape{1, 8192}, Shape{9, 4096}, Shape{9, 8192},
          Shape{33, 4096}, Shape{17, 8192}, Shape{40, 8192}}) {
      if (LeftOutOnHost(absl::StrCat(shape.outputs, " outputs"),
                        shape.outputs == 48))
        continue;
      // Several stages a warp.
      const Numbers weight =
          SoftNumbers(shape.outputs, shape.outputs > 48 ? 40 : 1536, 1, dice);
      const Numbers x = SoftNumbers(shape.rows, weight.columns, 2, dice);
      const Numbers y =
          Product(format, weight, x, LaunchShape::kMostSharedBytes);
      EXPECT_TRUE(SameBits(
          Product(format, weight, x, LaunchShape::kLeastSharedBytes), y))
          << shape.rows << " rows, " << shape.outputs << " outputs";
      constexpr int kPart = 48;
      Numbers part(shape.rows, kPart);
      for (int row = 0; row < shape.rows; ++row)
        std::copy_n(y.row(row) + shape.outputs - kPart, kPart, part.row(row));
      EXPECT_TRUE(
          SameBits(Product(format, weight.Rows(shape.outputs - kPart, kPart), x,
                           LaunchShape::kMostSharedBytes),
                   part))
          << shape.rows << " rows, " << shape.outputs << " outputs";
    }
}

}  // namespace
}  // namespace banyan
