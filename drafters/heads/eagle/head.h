// EagleHead: the network of a head, on its target's device.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_HEAD_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_HEAD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/transformer/network.h"
#include "core/transformer/sequence.h"
#include "core/transformer/weights.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {

// What makes one vector of several of the target's states side by side
// (EagleSpec::reduce), on a device.
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

// A head's part in the rounds that its target's device runs alone: the pairs of
// what was kept stay there, with the target's states.

// What a head is made of, which outlives its parts.
struct DeviceHeadSource {
  const EagleSpec& spec;
  const EagleReduction& reduction;
  const Network& target;
  int output_tap = 0;
};

// `sequence` is the network's, and `read_all` has it read all pairs but the
// root's.
std::unique_ptr<DeviceDrafter> NewDeviceHead(
    const DeviceHeadSource& source, TransformerSequence& sequence,
    std::function<absl::Status()> read_all);

// Immutable; safe for concurrent use.
class EagleHead {
 public:
  virtual ~EagleHead() = default;

  // Its rows start from vectors (ScoreRequest::vectors), hidden_size() numbers
  // each; its tokens are the target's.
  virtual const Model& network() const = 0;
  // The target's hidden states that a pair reads, in the order in which
  // VectorsOf takes them.
  virtual std::vector<int> taps() const = 0;
  // Where the network's output is taken that is fed back.
  virtual int output_tap() const = 0;

  // The vectors of rows of the target's states: of each row, the taps' side by
  // side. Unless overridden the states are the vectors.
  virtual absl::Status VectorsOf(absl::Span<const float> states, int rows,
                                 std::vector<float>& vectors) const;
  // Its part in rounds on the target's device, null if it has none: of a
  // session of the network, which `read_all` has read all pairs but the
  // root's.
  virtual std::unique_ptr<DeviceDrafter> OnDevice(
      Session& session, std::function<absl::Status()> read_all) const;
};

// The head of `directory` in the target's format, run by its backend. The
// target outlives it. Fails with InvalidArgument if it is no transformer, or as
// OpenEagleFile.
absl::StatusOr<std::unique_ptr<EagleHead>> LoadEagleHead(
    const std::string& directory, const Model& target);
absl::StatusOr<std::unique_ptr<EagleHead>> LoadEagleHead(
    const std::string& directory, const Model& target, TurnEagle turn);

// The head with logits for these tokens alone (TrimOutputs).
absl::StatusOr<std::shared_ptr<const EagleHead>> TrimHead(
    const std::shared_ptr<const EagleHead>& head,
    const std::vector<TokenId>& tokens);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_HEAD_H_
