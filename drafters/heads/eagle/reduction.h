// What makes one vector of several of the target's states side by side
// (EagleSpec::reduce), on a device.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_REDUCTION_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_REDUCTION_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/checkpoint/checkpoint.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"
#include "core/transformer/weights.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {

class EagleReduction {
 public:
  // Without effect where the one state is the vector.
  static absl::StatusOr<EagleReduction> Load(const EagleSpec& spec,
                                             const Checkpoint& checkpoint,
                                             WeightFormat format,
                                             Backend& backend);

  bool present() const { return weight_ != nullptr; }
  int columns() const { return weight_->columns(); }
  int rows() const { return weight_->rows(); }
  // The vectors of rows of states. `normed`, of the states' shape, is room for
  // them after their norms.
  absl::Status Run(const Tensor& states, const Tensor& normed,
                   const Tensor& vectors, DeviceOps& ops) const;

 private:
  std::unique_ptr<Weight> weight_;
  std::vector<RowVector> state_norms_;  // of each state
  RowVector joint_norm_;                // of all together
  float epsilon_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_REDUCTION_H_
