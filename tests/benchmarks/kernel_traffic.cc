// Prints what the kernels of one layer load and store, as the host device
// counts it (LaunchTraffic), beside the least that must move; and the time that
// a GPU's limits would allow, which is an estimate, not a measurement.
//
//   kernel_traffic [rows ...]
//
// Layers of the shapes of 1.1B and 7B models, bfloat16, after 4,096 committed
// tokens; `rows` are nodes of a tree, 1 and 64 if none is given.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan {
namespace {

// Of an H200: bytes and bfloat16 operations a second, by its maker's sheet.
constexpr double kBytesPerS = 4.8e12;
constexpr double kOperationsPerS = 989e12;

struct Shape {
  const char* name;
  int hidden;
  int inner;
  int heads;
  int kv_heads;
  int head_dim;
  int vocab;
};
constexpr Shape kShapes[] = {{"1.1B", 2048, 5632, 32, 4, 64, 32000},
                             {"7B", 4096, 11008, 32, 32, 128, 32000}};
constexpr int kCommitted = 4096;

void Must(const absl::Status& status) { Check(status.ok(), status.message()); }

class Layer {
 public:
  Layer(const Shape& shape, int rows)
      : shape_(shape),
        rows_(rows),
        device_(std::make_shared<HostDevice>(
            HostDeviceOptions{.count_sectors = true})) {
    auto backend =
        CudaBackend::Create(device_, on_host::kOpKernels, "emulated_gpu");
    Must(backend.status());
    backend_ = *std::move(backend);
  }

  void Print() {
    const int queries = shape_.heads * shape_.head_dim;
    const int keys = shape_.kv_heads * shape_.head_dim;
    const Tensor stream = Room(rows_, shape_.hidden);
    const Tensor normed = Room(rows_, shape_.hidden);
    const Tensor projected = Room(rows_, queries + 2 * keys);
    const Tensor attended = Room(rows_, queries);
    const Tensor both = Room(rows_, 2 * shape_.inner);
    const Tensor angles = Room(rows_, shape_.head_dim);
    const Tensor logits = Room(rows_, shape_.vocab);
    const NormArgs norm = {.x = stream,
                           .weight = Room(1, shape_.hidden),
                           .bias = {},
                           .epsilon = 1e-5F,
                           .y = normed};
    std::printf("%s, %d rows after %d tokens\n", shape_.name, rows_,
                kCommitted);
    std::printf("  %-22s %9s %9s %10s %6s %5s %9s %6s %9s\n", "", "loaded MB",
                "stored MB", "sectors MB", "trips", "waits", "least MB",
                "ratio", "least us");

    const auto product = [&](const char* what, int outputs, int inputs,
                             double reads,
                             absl::FunctionRef<absl::Status(const Weight&)> run,
                             RowPairs pairs = {}) {
      const std::unique_ptr<Weight> weight = NewWeight(outputs, inputs, pairs);
      const double streamed = static_cast<double>(weight->bytes());
      Count(what, streamed + reads + 4.0 * rows_ * outputs,
            2.0 * rows_ * outputs * inputs, [&] { return run(*weight); });
    };
    const auto floats = [&](double columns) { return 4.0 * rows_ * columns; };
    const Tensor squares = Room(rows_, SquaresColumns(shape_.hidden));
    NormArgs normed_stream = norm;
    normed_stream.squares = squares;
    KvCache cache = {.kv_heads = shape_.kv_heads, .head_dim = shape_.head_dim};
    Must(backend_->ReserveKv(cache, kCommitted + rows_, 0));
    const StoreKvArgs store = {
        .keys = projected.Columns(queries, keys),
        .values = projected.Columns(queries + keys, keys),
        .cache = &cache,
        .first_slot = kCommitted};
    RotateStoreArgs turned = {.queries = {.x = projected.Columns(0, queries),
                                          .head_dim = shape_.head_dim,
                                          .angles = angles,
                                          .norm_weight = {}},
                              .keys = {},
                              .sequences = {&store, 1}};
    turned.keys = turned.queries;
    turned.keys.x = store.keys;
    product("norm, qkv, store", projected.columns, shape_.hidden,
            floats(shape_.hidden + shape_.head_dim),
            [&](const Weight& weight) {
              return backend_->Linear({.x = normed,
                                       .weight = &weight,
                                       .bias = {},
                                       .y = projected,
                                       .source = normed_stream,
                                       .then = turned});
            },
            {(queries + keys) / 2, shape_.head_dim / 2});
    // A chain of as many nodes: the deepest tree there is.
    const int words = (rows_ + 31) / 32;
    std::vector<int> visible(static_cast<std::size_t>(rows_ * words));
    for (int row = 0; row < rows_; ++row)
      for (int seen = 0; seen <= row; ++seen) {
        int& word = visible[static_cast<std::size_t>(row * words + seen / 32)];
        word = static_cast<int>(static_cast<unsigned>(word) |
                                1U << static_cast<unsigned>(seen % 32));
      }
    const AttentionArgs attention = {.queries = projected.Columns(0, queries),
                                     .heads = shape_.heads,
                                     .prefix = &cache,
                                     .committed = kCommitted,
                                     .pending = &cache,
                                     .pending_slot = kCommitted,
                                     .first_pending = 0,
                                     .visible = List(visible),
                                     .visible_words = words,
                                     .y = attended};
    product(
        "attention, output", shape_.hidden, queries,
        floats(queries) + 4.0 * (kCommitted + rows_) * keys,
        [&](const Weight& weight) {
          return backend_->Linear({.x = attended,
                                   .weight = &weight,
                                   .bias = {},
                                   .y = stream,
                                   .add = true,
                                   .source = absl::MakeConstSpan(&attention, 1),
                                   .squares = squares});
        });
    const Tensor gate = both.Columns(0, shape_.inner);
    product(
        "norm, gate and up", both.columns, shape_.hidden, floats(shape_.hidden),
        [&](const Weight& weight) {
          return backend_->Linear(
              {.x = normed,
               .weight = &weight,
               .bias = {},
               .y = both,
               .source = normed_stream,
               .then =
                   ActivateArgs{.function = Nonlinearity::kSilu,
                                .x = gate,
                                .up = both.Columns(shape_.inner, shape_.inner),
                                .y = gate}});
        },
        {shape_.inner, shape_.inner});
    product("down", shape_.hidden, shape_.inner, floats(shape_.inner),
            [&](const Weight& weight) {
              return backend_->Linear({.x = gate,
                                       .weight = &weight,
                                       .bias = {},
                                       .y = stream,
                                       .add = true,
                                       .squares = squares});
            });
    product("logits", shape_.vocab, shape_.hidden, floats(shape_.hidden),
            [&](const Weight& weight) {
              return backend_->Linear(
                  {.x = normed, .weight = &weight, .bias = {}, .y = logits});
            });
  }

 private:
  Tensor Room(int rows, int columns) {
    const auto stride = static_cast<std::size_t>(PadToLane(columns));
    auto buffer = backend_->Allocate(static_cast<std::size_t>(rows) * stride *
                                     sizeof(float));
    Must(buffer.status());
    buffers_.push_back(*std::move(buffer));
    return {buffers_.back().get(), 0, rows, columns, stride};
  }
  Ints List(const std::vector<int>& numbers) {
    auto buffer = backend_->Allocate(numbers.size() * sizeof(int));
    Must(buffer.status());
    buffers_.push_back(*std::move(buffer));
    Must(backend_->Upload(
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(numbers.data()),
                            numbers.size() * sizeof(int)),
        *buffers_.back(), 0));
    return {buffers_.back().get(), 0, static_cast<int>(numbers.size())};
  }
  std::unique_ptr<Weight> NewWeight(int rows, int columns, RowPairs pairs) {
    auto weight = backend_->PackPaired(
        WeightFormat::kBf16, rows, columns, pairs,
        [columns](int, int count, float* out) {
          std::fill(out, out + std::ptrdiff_t{count} * columns, 0.0F);
          return absl::OkStatus();
        });
    Must(weight.status());
    return *std::move(weight);
  }

  // Runs a step and prints a line a kernel, and one for the step.
  void Count(const char* what, double least, double operations,
             absl::FunctionRef<absl::Status()> step) {
    Must(backend_->Finish());
    const std::map<std::string, LaunchTraffic> before = device_->traffic();
    Must(step());
    Must(backend_->Finish());
    LaunchTraffic all;
    for (const auto& [kernel, traffic] : device_->traffic()) {
      LaunchTraffic now = traffic;
      if (const auto found = before.find(kernel); found != before.end())
        now.Take(found->second);
      if (now.launches == 0) continue;
      Print("  " + kernel, now);
      std::printf("\n");
      all.Add(now);
    }
    Print(what, all);
    std::printf(
        " %9.2f %6.2f %9.2f\n", least / 1e6,
        static_cast<double>(all.loaded + all.stored) / least,
        1e6 * std::max(least / kBytesPerS, operations / kOperationsPerS));
    std::fflush(stdout);
  }
  static void Print(const std::string& what, const LaunchTraffic& traffic) {
    std::printf("  %-22s %9.2f %9.2f %10.2f %5d %5d", what.c_str(),
                static_cast<double>(traffic.loaded) / 1e6,
                static_cast<double>(traffic.stored) / 1e6,
                static_cast<double>(traffic.sectors) * 32 / 1e6, traffic.trips,
                traffic.waits);
  }

  const Shape& shape_;
  const int rows_;
  std::shared_ptr<HostDevice> device_;
  std::shared_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

int Main(int argc, char** argv) {
  std::vector<int> rows;
  for (int i = 1; i < argc; ++i) {
    int count = 0;
    if (!absl::SimpleAtoi(argv[i], &count) || count < 1) {
      std::fprintf(stderr, "expected numbers of rows, found %s\n", argv[i]);
      return EXIT_FAILURE;
    }
    rows.push_back(count);
  }
  if (rows.empty()) rows = {1, 64};
  for (const Shape& shape : kShapes)
    for (int count : rows) Layer(shape, count).Print();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace banyan

int main(int argc, char** argv) { return banyan::Main(argc, argv); }
