#include "drafters/heads/eagle/reduction.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/checkpoint.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/transformer/weights.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {

absl::StatusOr<EagleReduction> EagleReduction::Load(
    const EagleSpec& spec, const Checkpoint& checkpoint, WeightFormat format,
    Backend& backend) {
  EagleReduction reduction;
  if (!spec.reduce.present()) return reduction;
  reduction.epsilon_ = static_cast<float>(spec.network.norm_epsilon);
  BANYAN_ASSIGN_OR_RETURN(reduction.weight_,
                          LoadMatrix(checkpoint, spec.reduce, format, backend));
  for (const WeightSource& source : spec.state_norms) {
    BANYAN_ASSIGN_OR_RETURN(RowVector norm,
                            LoadVector(checkpoint, source, backend));
    reduction.state_norms_.push_back(std::move(norm));
  }
  if (spec.joint_norm.present()) {
    BANYAN_ASSIGN_OR_RETURN(reduction.joint_norm_,
                            LoadVector(checkpoint, spec.joint_norm, backend));
  }
  return reduction;
}

absl::Status EagleReduction::Run(const Tensor& states, const Tensor& normed,
                                 const Tensor& vectors, DeviceOps& ops) const {
  const auto norm = [&](const RowVector& weight, int first, int size) {
    return ops.Norm({.x = states.Columns(first, size),
                     .weight = weight.view(),
                     .bias = {},
                     .epsilon = epsilon_,
                     .y = normed.Columns(first, size)});
  };
  int first = 0;
  for (const RowVector& weight : state_norms_) {
    BANYAN_RETURN_IF_ERROR(norm(weight, first, weight.size));
    first += weight.size;
  }
  if (joint_norm_.size > 0)
    BANYAN_RETURN_IF_ERROR(norm(joint_norm_, 0, joint_norm_.size));
  const bool norms = !state_norms_.empty() || joint_norm_.size > 0;
  return ops.Linear({.x = norms ? normed : states,
                     .weight = weight_.get(),
                     .bias = {},
                     .y = vectors});
}

}  // namespace banyan
