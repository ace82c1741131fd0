// The functions that a maker's table of a round's kernels holds
// (round_kernels.h).
#ifndef BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_LAUNCHES_H_
#define BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_LAUNCHES_H_

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/kernels/round_kernels.h"

namespace banyan::BANYAN_MAKER {

void LaunchSelect(CudaDevice& device, const SelectLaunch& launch);
void LaunchLaws(CudaDevice& device, const LawsLaunch& launch);
void LaunchDraw(CudaDevice& device, const DrawLaunch& launch);
void LaunchVerify(CudaDevice& device, const RoundSpans& round);
void LaunchKeep(CudaDevice& device, const KeepLaunch& launch);

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_LAUNCHES_H_
