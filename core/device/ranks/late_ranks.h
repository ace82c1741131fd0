// Why a gather did not end: ranks that are late, or ranks that do not gather
// the same.
#ifndef BANYAN_CORE_DEVICE_RANKS_LATE_RANKS_H_
#define BANYAN_CORE_DEVICE_RANKS_LATE_RANKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace banyan {

// The number of a rank's current gather, and hashes of the sizes of this gather
// and of the one before it.
struct GatherPlace {
  std::uint64_t number = 0;
  std::uint64_t sizes = 0;
  std::uint64_t sizes_before = 0;
};

// What a rank answered that was asked where it is.
struct RankAnswer {
  bool given = false;
  GatherPlace place;
  double after_s = 0;  // since the asking rank began its gather
};

// How long a gather may take, and the words that name this limit.
struct GatherLimit {
  double seconds = 0;
  std::string name;
};

// The ranks gather different amounts.
absl::Status RanksDiffer();

// The error of rank `mine`, whose gather did not end: of all ranks' answers,
// its own among them. The ranks' numbers may be apart, because a rank whose
// gather has ended goes on to the next while others wait for the last bytes of
// this one. A rank that gathers other sizes under the same number computes
// differently. Otherwise ranks without an answer are named as silent, and else
// the rank that answered last as late, or rank `mine` itself if all others
// answered in time.
absl::Status ExplainLateness(int mine, const std::vector<RankAnswer>& answers,
                             const GatherLimit& limit);

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_RANKS_LATE_RANKS_H_
