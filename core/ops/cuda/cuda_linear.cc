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

// Parts of the scratch begin at multiples of this.
std::size_t RoundUp(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Whether products with it are of fragments.
bool IsTiles(const Weight& weight) {
  const DeviceWeight on_device = WeightOf(weight);
  return on_device.format != WeightFormat::kF32 && on_device.stride == 0;
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
                                   const NormArgs* norm) {
  LinearLaunch launch = {.x = norm != nullptr ? norm->x : args.x,
                         .weight = WeightOf(*args.weight),
                         .bias = args.bias,
                         .y = args.y,
                         .add = args.add,
                         .norm = norm};
  if (launch.weight.stride > 0) return MultiplyRows(launch);
  if (launch.weight.format != WeightFormat::kF32) launch.squares = args.squares;
  launch.activate = std::get_if<ActivateArgs>(&args.then);
  launch.store = std::get_if<RotateStoreArgs>(&args.then);
  NormArgs with;
  const bool lacks_squares = norm != nullptr && norm->squares.empty();
  if (lacks_squares) {
    with = *norm;
    with.squares.rows = norm->x.rows;
    with.squares.columns = SquaresColumns(norm->x.columns);
    with.squares.stride = static_cast<std::size_t>(with.squares.columns);
    launch.norm = &with;
  }
  const std::size_t squares =
      RoundUp(static_cast<std::size_t>(with.squares.rows) *
              with.squares.stride * sizeof(float));
  const std::size_t own = kernels_.linear_scratch(launch);
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan scratch, Scratch(squares + own));
  launch.scratch = scratch.Part(squares, own);
  if (lacks_squares) {
    if (squares > 0) with.squares.buffer = scratch_.get();
    kernels_.squares(*device_, {.x = norm->x, .squares = with.squares});
  }
  kernels_.linear(*device_, launch);
  return absl::OkStatus();
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
  if (norm != nullptr && IsTiles(*args.weight) && !norm->center &&
      norm->bias.empty())
    return Multiply(args, norm);
  BANYAN_RETURN_IF_ERROR(MakeRows(*this, args.source));
  return Multiply(args, nullptr);
}

}  // namespace banyan
