// Ranks whose bytes travel as over a slower link.
#ifndef BANYAN_CORE_DEVICE_RANKS_EMULATED_LINK_H_
#define BANYAN_CORE_DEVICE_RANKS_EMULATED_LINK_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/device/ranks/communicator.h"

namespace banyan {

// A link between every two machines.
struct LinkSpeed {
  double latency_s = 0;
  double bytes_per_s = 0;
};

// "1Gbit,0.2ms": Gbit or Mbit a second, and a latency in ms or us.
absl::StatusOr<LinkSpeed> ReadLinkSpeed(absl::string_view text);
std::string Text(const LinkSpeed& speed);

// The steps of a gather, one after the other: in a ring, each machine passes on
// to its neighbour the bytes that it received last.
constexpr int GatherSteps(int ranks) { return ranks - 1; }

// The time of a gather of `bytes` in all over such a link, where every rank
// gives the same number of bytes: each receives those of all others.
double GatherSeconds(const LinkSpeed& speed, int ranks, std::size_t bytes);

// A communicator whose gathers take at least GatherSeconds after the last rank
// has arrived. `clock` outlives it.
std::unique_ptr<Communicator> EmulateLink(std::shared_ptr<Communicator> ranks,
                                          const LinkSpeed& speed,
                                          const Clock& clock);

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_EMULATED_LINK_H_
