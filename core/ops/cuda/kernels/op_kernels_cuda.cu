#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {

const OpKernels kOpKernels = {
    .embed = LaunchEmbed,
    .linear = LaunchLinear,
    .store_kv = LaunchStoreKv,
    .move_kv = LaunchMoveKv,
    .attention = LaunchAttention,
    .attention_mass = LaunchAttentionMass,
    .linear_scratch = LinearScratch,
    .attention_scratch = AttentionScratch,
    .attention_mass_scratch = AttentionMassScratch,
    .norm = LaunchNorm,
    .squares = LaunchSquares,
    .rotate = LaunchRotate,
    .rotate_store = LaunchRotateStore,
    .activate = LaunchActivate,
    .copy = LaunchCopy,
    .round_rows = LaunchRoundRows,
    .start_rows = LaunchStartRows,
    .best = LaunchBest,
    .read_all = LaunchReadAll,
    .multiply_all = LaunchMultiplyAll,
    .multiply_all_operations = OperationsOfMultiplyAll,
    .select = LaunchSelect,
    .merge = LaunchMerge,
    .distributions = LaunchDistributions,
    .draw = LaunchDraw,
    .judge = LaunchJudge,
    .keep = LaunchKeep};

}  // namespace banyan::BANYAN_MAKER
