// A head's part in the rounds that its target's device runs alone: the pairs of
// what was kept stay there, with the target's states.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_DEVICE_HEAD_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_DEVICE_HEAD_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/base/token.h"
#include "core/model/device_round.h"
#include "core/transformer/network.h"
#include "core/transformer/sequence.h"
#include "drafters/heads/eagle/layouts.h"
#include "drafters/heads/eagle/reduction.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_DEVICE_HEAD_H_
