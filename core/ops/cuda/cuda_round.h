// RoundTables of a CudaBackend.
#ifndef BANYAN_CORE_OPS_CUDA_CUDA_ROUND_H_
#define BANYAN_CORE_OPS_CUDA_CUDA_ROUND_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/kernels/round_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/round_tables.h"

namespace banyan {

class CudaRound : public RoundTables {
 public:
  // Unimplemented if the device has no counterpart of the plan's policy or
  // verifier. Requires the numbers that round_plan.h states for the policy.
  static absl::StatusOr<std::unique_ptr<CudaRound>> Create(
      CudaBackend& backend, const RoundKernels& kernels,
      const RoundTablesOptions& options);

  const std::vector<int>& widths() const override { return widths_; }
  absl::Status Begin(const RoundStart& start, int target, int draft) override;
  absl::Status Select(int level) override;
  DeviceRows draft_rows(int level) const override;
  int all_draft_rows() const override { return layout_.draft_rows; }
  absl::Status Draw(int level, const Tensor& logits) override;
  DeviceRows target_rows() const override;
  absl::Status Verify(const Tensor& logits) override;
  absl::Status Keep(absl::Span<KvCache* const> target,
                    absl::Span<KvCache* const> draft) override;
  Ints kept_rows() const override;
  absl::StatusOr<RoundFindings> Read() override;
  int target_length() const override { return target_length_; }
  int draft_length() const override { return draft_length_; }
  absl::StatusOr<std::vector<double>> Proposal(int node) override;

 private:
  CudaRound(CudaBackend& backend, const RoundKernels& kernels,
            const RoundTablesOptions& options)
      : backend_(backend), kernels_(kernels), options_(options) {}

  absl::Status ReadPlan();
  absl::Status ReadShape();
  void LayOut();
  absl::Status Allocate();
  LawRule RuleOf(const SamplingRule& rule, int used,
                 const Buffer* banned) const;
  RoundSpans Spans() const;
  // Rows of the drafter, and its distributions, before those of a level.
  int RowsBefore(int level) const;
  int LawsBefore(int level) const;
  Ints ListAt(int list, int size) const;
  absl::Status KeepModel(bool of_target, absl::Span<KvCache* const> caches);

  CudaBackend& backend_;
  const RoundKernels& kernels_;
  const RoundTablesOptions options_;
  RoundLayout layout_;
  std::vector<int> widths_;
  std::vector<int> plan_;  // the integers from RoundLayout::place_first on
  std::unique_ptr<Buffer> book_;  // doubles, then integers
  std::unique_ptr<Buffer> draft_laws_, target_laws_, residual_;
  std::unique_ptr<Buffer> seen_, order_;
  std::unique_ptr<Buffer> banned_target_, banned_draft_, columns_;
  std::vector<int> found_;  // the integers of the last Read()
  int target_length_ = 0;
  int draft_length_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_CUDA_ROUND_H_
