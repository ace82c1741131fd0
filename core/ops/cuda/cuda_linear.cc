// Products of a CudaBackend: with what makes their rows and what follows them.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <variant>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/cuda_weight.h"
#include "core/ops/cuda/early_launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan {
namespace {

// Whether products with it are of fragments of this format.
bool IsTiles(const Weight& weight, WeightFormat format) {
  const DeviceWeight on_device = WeightOf(weight);
  return on_device.format == format && on_device.stride == 0;
}

// Whether a product does what follows it: the weight's rows are in the order
// that this wants.
bool EndsAtOnce(const LinearArgs& args) {
  const DeviceWeight weight = WeightOf(*args.weight);
  if (weight.format == WeightFormat::kF32 || weight.stride > 0 || args.add)
    return false;
  const auto paired = [&](int pairs, int distance) {
    return weight.pairs.pairs == pairs && weight.pairs.distance == distance;
  };
  if (const auto* activate = std::get_if<ActivateArgs>(&args.then)) {
    const int gates = activate->x.columns;
    return !activate->add &&
           (activate->up.empty() ? paired(0, 0) : paired(gates, gates));
  }
  const auto* store = std::get_if<RotateStoreArgs>(&args.then);
  if (store == nullptr || !StoresAtOnce(*store)) return false;
  const RotateArgs& queries = store->queries;
  if (!queries.norm_weight.empty() || !store->keys.norm_weight.empty() ||
      store->keys.scale != 1)
    return false;
  if (queries.angles.empty()) return paired(0, 0) && queries.head_dim % 2 == 0;
  return queries.head_dim % 4 == 0 &&
         paired((queries.x.columns + store->keys.x.columns) / 2,
                queries.head_dim / 2);
}

}  // namespace

absl::Status CudaBackend::MultiplyRows(const LinearLaunch& launch) {
  const DeviceWeight& weight = launch.weight;
  if (launch.x.rows == 0) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(
      const DeviceSpan x,
      Scratch(static_cast<std::size_t>(launch.x.rows) *
              static_cast<std::size_t>(weight.stride) * sizeof(std::uint16_t)));
  kernels_.round_rows(*device_,
                      {.x = launch.x, .y = x, .stride = weight.stride});
  const bool biased = !launch.bias.empty();
  if (biased)
    kernels_.start_rows(
        *device_, {.bias = launch.bias, .y = launch.y, .add = launch.add});
  device_->Multiply({.x = x,
                     .x_stride = weight.stride,
                     .weight = weight.numbers,
                     .weight_stride = weight.stride,
                     .y = NumbersOf(launch.y),
                     .y_stride = static_cast<std::int64_t>(launch.y.stride),
                     .rows = launch.x.rows,
                     .columns = weight.columns,
                     .outputs = weight.rows,
                     .add = launch.add || biased});
  return absl::OkStatus();
}

absl::Status CudaBackend::Multiply(const LinearArgs& args,
                                   LinearLaunch launch) {
  launch.x = args.x;
  launch.weight = WeightOf(*args.weight);
  launch.bias = args.bias;
  launch.y = args.y;
  launch.add = args.add;
  if (launch.weight.stride > 0) return MultiplyRows(launch);
  if (launch.weight.format != WeightFormat::kF32) launch.squares = args.squares;
  launch.activate = std::get_if<ActivateArgs>(&args.then);
  launch.store = std::get_if<RotateStoreArgs>(&args.then);
  BANYAN_ASSIGN_OR_RETURN(launch.scratch,
                          Scratch(kernels_.linear_scratch(launch)));
  kernels_.linear(*device_, launch);
  return absl::OkStatus();
}

absl::Status CudaBackend::MultiplyNormed(const LinearArgs& args,
                                         const NormArgs& norm) {
  NormArgs with = norm;
  if (with.squares.empty()) {
    with.squares.rows = norm.x.rows;
    with.squares.columns = SquaresColumns(norm.x.columns);
    with.squares.stride = static_cast<std::size_t>(with.squares.columns);
    BANYAN_ASSIGN_OR_RETURN(
        const DeviceSpan span,
        Scratch(static_cast<std::size_t>(with.squares.rows) *
                with.squares.stride * sizeof(float)));
    if (span.bytes > 0) with.squares.buffer = scratch_.get();
    kernels_.squares(*device_, {.x = norm.x, .squares = with.squares});
  }
  LinearArgs product = args;
  product.x = norm.x;
  return Multiply(product, {.norm = &with});
}

absl::Status CudaBackend::Linear(const LinearArgs& args) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const EarlyLaunches early(*device_, args.x.rows);
  if (args.then.index() == 0 || EndsAtOnce(args)) return MultiplyRowsOf(args);
  LinearArgs alone = args;
  alone.then = {};
  BANYAN_RETURN_IF_ERROR(MultiplyRowsOf(alone));
  return DoNext(*this, args.then);
}

absl::Status CudaBackend::MultiplyRowsOf(const LinearArgs& args) {
  const auto* norm = std::get_if<NormArgs>(&args.source);
  if (IsTiles(*args.weight, WeightFormat::kBf16)) {
    if (norm != nullptr && !norm->center && norm->bias.empty())
      return MultiplyNormed(args, *norm);
  } else if (IsTiles(*args.weight, WeightFormat::kQ8)) {
    if (norm != nullptr)
      return Multiply(args, {.source = LinearSource::kNorm, .norm = norm});
    const auto* attended =
        std::get_if<absl::Span<const AttentionArgs>>(&args.source);
    // The rows of several sequences have no order yet that a product could
    // read.
    if (attended != nullptr && attended->size() == 1)
      return MultiplyAttended(attended->front(), args);
  }
  BANYAN_RETURN_IF_ERROR(MakeRows(*this, args.source));
  return Multiply(args, {});
}

absl::Status CudaBackend::MultiplyAttended(const AttentionArgs& attention,
                                           const LinearArgs& linear) {
  AttentionArgs without = attention;
  without.y = {};
  // The product's scratch follows: both are read at once.
  const LinearLaunch shape = {.x = linear.x,
                              .weight = WeightOf(*linear.weight)};
  const std::size_t partials = kernels_.attention_scratch({&without, 1});
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan both,
                          Scratch(partials + kernels_.linear_scratch(shape)));
  const DeviceSpan scratch = both.Part(0, partials);
  kernels_.attention(*device_, {&without, 1}, scratch);
  LinearLaunch product = {
      .x = shape.x,
      .weight = shape.weight,
      .bias = linear.bias,
      .y = linear.y,
      .add = linear.add,
      .squares = linear.squares,
      .scratch = both.Part(partials, kernels_.linear_scratch(shape)),
      .source = LinearSource::kAttention,
      .attention = &without,
      .attention_scratch = scratch};
  kernels_.linear(*device_, product);
  return absl::OkStatus();
}

}  // namespace banyan
