// The keys of a calibration: what `banyan calibrate` writes, and what policies
// read as `calibration: !include FILE`.
#ifndef BANYAN_TREE_POLICIES_CALIBRATION_KEYS_H_
#define BANYAN_TREE_POLICIES_CALIBRATION_KEYS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/params.h"

namespace banyan {

struct CalibrationKey {
  absl::string_view name;
  absl::string_view comment = "";  // in the file, above it
};

// In the order in which they are written.
inline constexpr CalibrationKey kCalibrationKeys[] = {
    {"drafter"},
    {"verifier"},
    {"draws"},
    {"temperature"},
    {"tokens"},
    {"nodes", "By rank, of this number of nodes."},
    {"accepted"},
    {"acceptance"},
    {"acceptance_low"},
    {"acceptance_high"},
    {"draft_ms",
     "Of a drafted level on this machine, beside the target's pass."},
    {"positions", "By head, then by rank, of this number of positions."},
    {"hits"},
    {"accuracies"}};

// Fails at the key whose value is not what `banyan calibrate` writes there, or
// that it does not write; any may be absent.
absl::Status CheckCalibration(const Params& calibration);

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_CALIBRATION_KEYS_H_
