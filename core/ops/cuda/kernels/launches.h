// The functions that a maker's table of kernels holds (op_kernels.h).
#ifndef BANYAN_CORE_OPS_CUDA_KERNELS_LAUNCHES_H_
#define BANYAN_CORE_OPS_CUDA_KERNELS_LAUNCHES_H_

#include <cstddef>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

void LaunchNorm(CudaDevice& device, const NormArgs& args);
void LaunchSquares(CudaDevice& device, const SquaresLaunch& launch);
void LaunchRotate(CudaDevice& device, const RotateArgs& args);
void LaunchRotateStore(CudaDevice& device, const RotateStoreArgs& args);
void LaunchActivate(CudaDevice& device, const ActivateArgs& args);
void LaunchCopy(CudaDevice& device, const CopyArgs& args);
void LaunchEmbed(CudaDevice& device, const EmbedLaunch& launch);
void LaunchLinear(CudaDevice& device, const LinearLaunch& launch);
void LaunchStoreKv(CudaDevice& device, const StoreKvArgs& args);
void LaunchMoveKv(CudaDevice& device, const MoveKvLaunch& launch);
void LaunchAttention(CudaDevice& device, absl::Span<const AttentionArgs> all,
                     DeviceSpan scratch);
void LaunchAttentionMass(CudaDevice& device, const AttentionMassArgs& args,
                         DeviceSpan scratch);
void LaunchRoundRows(CudaDevice& device, const RoundRowsLaunch& launch);
void LaunchStartRows(CudaDevice& device, const StartRowsLaunch& launch);
void LaunchBest(CudaDevice& device, const BestLaunch& launch);
void LaunchReadAll(CudaDevice& device, const ReadAllLaunch& launch);
void LaunchMultiplyAll(CudaDevice& device, const MultiplyAllLaunch& launch);
double OperationsOfMultiplyAll(const MultiplyAllLaunch& launch);
std::size_t LinearScratch(const LinearLaunch& launch);
std::size_t AttentionScratch(absl::Span<const AttentionArgs> all);
std::size_t AttentionMassScratch(const AttentionMassArgs& args);
void LaunchSelect(CudaDevice& device, const RoundSpans& round,
                  const SelectArgs& args);
void LaunchMerge(CudaDevice& device, const RoundSpans& round);
void LaunchDistributions(CudaDevice& device, const RoundSpans& round,
                         const DistributionLaunch& launch);
void LaunchDraw(CudaDevice& device, const RoundSpans& round,
                const DrawArgs& args);
void LaunchJudge(CudaDevice& device, const RoundSpans& round);
void LaunchKeep(CudaDevice& device, const RoundSpans& round,
                const KeepArgs& args);

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_KERNELS_LAUNCHES_H_
