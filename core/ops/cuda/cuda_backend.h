// CudaBackend: the ops as kernels of a device of CUDA's kind: a GPU, or the
// host device, which runs the same kernels on this machine and checks every
// access.
//
// Weights stay in their format, keys and values are kept as bfloat16s, and
// where a weight is bfloat16 the activations it multiplies are rounded to that
// too, as are queries and the weights of attention: sums are in float. Results
// depend neither on what shares a pass nor on the order of threads; kernels
// state their orders.
#ifndef BANYAN_CORE_OPS_CUDA_CUDA_BACKEND_H_
#define BANYAN_CORE_OPS_CUDA_CUDA_BACKEND_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/cuda/staging.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/ops/round_args.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

class CudaBackend : public Backend {
 public:
  // `kernels` are those of the device's maker; `name` is the device's in the
  // table of devices. `fast`: products with f32 and bf16 weights, which are
  // then both kept as bfloat16s, are the device's library's (device.h), whose
  // order of sums depends on the number of rows. Fails as OpenProducts.
  static absl::StatusOr<std::unique_ptr<CudaBackend>> Create(
      std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
      std::string name, bool fast = false);

  BackendFacts facts() const override;
  std::string description() const override;
  absl::Status Finish() override;
  absl::StatusOr<std::unique_ptr<Recording>> Record(
      absl::FunctionRef<absl::Status()> work) override;
  absl::Status Replay(const Recording& recording) override;

  absl::Status RunStep(const RoundMemory& memory,
                       const RoundStep& step) override;

  // Asks for work of other kernels of the same maker, in its turn.
  void Ask(absl::FunctionRef<void(CudaDevice&)> launch);
  // Of GPUs alone: what the host device takes says nothing.
  absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(std::size_t bytes,
                                                  const Clock& clock) override;

  std::size_t peak_bytes() const override { return device_->peak_bytes(); }
  absl::Status CheckRoom(std::size_t bytes, absl::string_view what) override;
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes) override;
  absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                      std::size_t offset) override;
  absl::Status Download(const Buffer& from, std::size_t offset,
                        absl::Span<std::byte> to) override;
  absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format, int rows,
                                               int columns,
                                               WeightRows source) override;
  absl::StatusOr<std::unique_ptr<Weight>> PackPaired(
      WeightFormat format, int rows, int columns, RowPairs pairs,
      WeightRows source) override;
  absl::Status ReserveKv(KvCache& cache, int slots, int used) override;
  absl::Status Embed(const EmbedArgs& args) override;
  absl::Status Norm(const NormArgs& args) override;
  absl::Status Linear(const LinearArgs& args) override;
  absl::Status Rotate(const RotateArgs& args) override;
  absl::Status Activate(const ActivateArgs& args) override;
  absl::Status Copy(const CopyArgs& args) override;
  absl::Status StoreKv(absl::Span<const StoreKvArgs> sequences) override;
  absl::Status MoveKv(const MoveKvArgs& args) override;
  absl::Status Attention(absl::Span<const AttentionArgs> sequences) override;
  absl::Status AttentionMass(const AttentionMassArgs& args) override;
  absl::Status RotateStore(const RotateStoreArgs& args) override;
  absl::StatusOr<Distribution> Law(const LawArgs& args) override;
  absl::StatusOr<std::vector<TokenLogit>> Best(const BestArgs& args) override;

 private:
  CudaBackend(std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
              std::string name, bool fast, std::unique_ptr<Staging> staging);

  // An error while work is recorded, which has no place for `what`.
  absl::Status CheckNotRecording(absl::string_view what) const;
  // Without the lock.
  absl::StatusOr<std::unique_ptr<Buffer>> NewBuffer(std::size_t bytes);
  absl::Status CopyIn(absl::Span<const std::byte> from, DeviceSpan to);
  absl::Status CopyOut(DeviceSpan from, absl::Span<std::byte> to);
  // For the library's products.
  absl::Status MultiplyRows(const LinearLaunch& launch);
  // Memory that the next calls may use, one after the other.
  absl::StatusOr<DeviceSpan> Scratch(std::size_t bytes);
  // A product, with whatever makes its rows.
  absl::Status MultiplyRowsOf(const LinearArgs& args);
  // A product whose rows are there; `norm`, if any, is taken of them.
  absl::Status Multiply(const LinearArgs& args, const NormArgs* norm);
  // The row on this machine.
  absl::StatusOr<LogitRow> Fetch(const LogitRow& logits,
                                 std::unique_ptr<Buffer>& buffer);

  const std::shared_ptr<CudaDevice> device_;
  const OpKernels& kernels_;
  const std::string name_;
  const bool fast_;
  std::recursive_mutex mutex_;  // what is recorded calls ops
  bool recording_ = false;
  const std::unique_ptr<Staging> staging_;
  std::shared_ptr<Buffer> scratch_;  // recordings hold what they use
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_CUDA_BACKEND_H_
