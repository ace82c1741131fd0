// Ranks of MPI.
#ifndef BANYAN_CORE_DEVICE_RANKS_MPI_H_
#define BANYAN_CORE_DEVICE_RANKS_MPI_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/device/ranks/communicator.h"

namespace banyan {

inline constexpr double kGatherTimeoutS = 60;

// Starts MPI. A process does this once. Fails if there are more ranks than
// kMostRanks, or if the program was built without MPI.
absl::StatusOr<std::unique_ptr<Communicator>> StartMpi(
    double timeout_s = kGatherTimeoutS);

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_MPI_H_
