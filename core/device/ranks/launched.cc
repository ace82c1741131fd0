#include "core/device/ranks/launched.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace banyan {
namespace {

// Returns rank and size from the first launcher that sets both of its
// variables.
absl::StatusOr<Launch> ReadLaunch() {
  constexpr struct {
    const char* rank;
    const char* ranks;
  } kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                    {"PMI_RANK", "PMI_SIZE"}};
  for (const auto& launcher : kLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    const char* const ranks = std::getenv(launcher.ranks);
    if (rank == nullptr || ranks == nullptr) continue;
    Launch launch;
    if (absl::SimpleAtoi(rank, &launch.rank) &&
        absl::SimpleAtoi(ranks, &launch.ranks) && launch.rank >= 0 &&
        launch.rank < launch.ranks)
      return launch;
    return absl::InvalidArgumentError(absl::StrCat(
        "environment: expected ", launcher.rank, " from 0 on and below ",
        launcher.ranks, ", as mpirun sets them, found ", launcher.rank, "=",
        rank, " and ", launcher.ranks, "=", ranks));
  }
  return Launch();
}

}  // namespace

Launch HowLaunched() {
  const absl::StatusOr<Launch> launch = ReadLaunch();
  return launch.ok() ? *launch : Launch();
}

absl::Status CheckLaunch() { return ReadLaunch().status(); }

std::string LaunchedWith() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::replace(text.begin(), text.end(), '\0', ' ');
  const std::size_t program = text.find(' ');
  return program == std::string::npos ? "" : text.substr(program + 1);
}

}  // namespace banyan
