#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/cuda/kernels/round_kernels.h"
#include "core/ops/cuda/kernels/round_launches.h"

namespace banyan::BANYAN_MAKER {

const RoundKernels kRoundKernels = {.select = LaunchSelect,
                                    .laws = LaunchLaws,
                                    .draw = LaunchDraw,
                                    .verify = LaunchVerify,
                                    .keep = LaunchKeep};

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
    .rounds = &kRoundKernels};

}  // namespace banyan::BANYAN_MAKER
