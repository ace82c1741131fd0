// DeviceRound: rounds of one sequence that the target's device runs alone: one
// call, and one small copy back.
#ifndef BANYAN_CORE_MODEL_DEVICE_ROUND_H_
#define BANYAN_CORE_MODEL_DEVICE_ROUND_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/model/context.h"
#include "core/prob/round_plan.h"

namespace banyan {

class Scores;  // core/model/model.h

// A drafter's part in the rounds of its target's device. The model that is
// asked for the rounds (DeviceRounds) knows its class; it is made for that
// model.
class DeviceDrafter {
 public:
  virtual ~DeviceDrafter() = default;
};

// Not safe for concurrent use; nothing else scores or commits with its sessions
// while it runs.
class DeviceRound {
 public:
  virtual ~DeviceRound() = default;

  // The sequence as it stands; before the first round, and whenever rounds were
  // run without it. The sessions hold the context but its root, or less.
  virtual absl::Status Begin(const Context& context) = 0;
  // The longest text that a round may start from, and the shortest.
  virtual int longest_text() const = 0;
  virtual int shortest_text() const = 0;

  // Drafts, scores, judges and commits. On an error the sequence is as it was,
  // and the round may be run again.
  virtual absl::StatusOr<RoundFindings> Run() = 0;

  // Of the last round, until the next: the target's rows, one a node, with the
  // sequence's features; and the masses that were proposed after a node.
  virtual const Scores& scores() const = 0;
  virtual absl::StatusOr<std::vector<double>> Proposal(int node) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_MODEL_DEVICE_ROUND_H_
