// How this process was started: alone, or as one of several ranks.
#ifndef BANYAN_CORE_DEVICE_RANKS_LAUNCHED_H_
#define BANYAN_CORE_DEVICE_RANKS_LAUNCHED_H_

#include <string>

#include "absl/status/status.h"

namespace banyan {

struct Launch {
  int rank = 0;
  int ranks = 1;
};

// As the mpirun of Open MPI or MPICH says in the environment; one rank without
// one, and where CheckLaunch() fails. Needs no MPI.
Launch HowLaunched();

// InvalidArgument, naming variables and values, if what the environment says is
// no rank below the number of ranks.
absl::Status CheckLaunch();

// The arguments of this process, as the system has them.
std::string LaunchedWith();

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_LAUNCHED_H_
