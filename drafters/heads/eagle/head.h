// EagleHead: the network of a head, on its target's device.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_HEAD_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_HEAD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/device_round.h"
#include "core/model/model.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {

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
