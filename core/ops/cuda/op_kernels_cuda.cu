#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/op_kernels.h"

namespace banyan::BANYAN_MAKER {

const OpKernels kOpKernels = {
    .embed = LaunchEmbed,
    .linear = LaunchLinear,
    .store_kv = LaunchStoreKv,
    .move_kv = LaunchMoveKv,
    .attention = LaunchAttention,
    .linear_scratch = LinearScratch,
    .attention_scratch = AttentionScratch,
    .norm = LaunchNorm,
    .rotate = LaunchRotate,
    .activate = LaunchActivate,
    .copy = LaunchCopy,
    .round_rows = LaunchRoundRows,
    .start_rows = LaunchStartRows,
    .read_all = LaunchReadAll,
    .multiply_all = LaunchMultiplyAll,
    .multiply_all_operations = OperationsOfMultiplyAll};

}  // namespace banyan::BANYAN_MAKER
