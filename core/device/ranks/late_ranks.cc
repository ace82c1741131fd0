#include "core/device/ranks/late_ranks.h"

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace banyan {
namespace {

// Whether two ranks gather the same, as far as their numbers show. A rank that
// has no bytes of a gather to wait for may be several ahead.
bool Alike(const GatherPlace& a, const GatherPlace& b) {
  if (a.number == b.number)
    return a.sizes == b.sizes && a.sizes_before == b.sizes_before;
  if (a.number == b.number + 1) return a.sizes_before == b.sizes;
  if (b.number == a.number + 1) return b.sizes_before == a.sizes;
  return true;
}

}  // namespace

absl::Status RanksDiffer() {
  return absl::DataLossError(
      "the ranks gather different amounts: they have drafted or accepted "
      "different tokens, so their machines or programs compute differently");
}

absl::Status ExplainLateness(int mine, const std::vector<RankAnswer>& answers,
                             const GatherLimit& limit) {
  const GatherPlace& place = answers[static_cast<std::size_t>(mine)].place;
  std::vector<int> silent;
  int last = mine;
  double last_s = 0;
  for (int rank = 0; rank < static_cast<int>(answers.size()); ++rank) {
    const RankAnswer& answer = answers[static_cast<std::size_t>(rank)];
    if (rank == mine) continue;
    if (!answer.given) {
      silent.push_back(rank);
      continue;
    }
    if (!Alike(place, answer.place)) return RanksDiffer();
    if (answer.after_s < last_s) continue;
    last = rank;
    last_s = answer.after_s;
  }
  if (!silent.empty())
    return absl::DeadlineExceededError(absl::StrCat(
        silent.size() == 1 ? "rank " : "ranks ", absl::StrJoin(silent, ", "),
        " did not answer for ", limit.seconds, " s ", limit.name,
        ", expected for gather ", place.number));
  if (last_s <= limit.seconds)
    return absl::DeadlineExceededError(
        absl::StrCat("rank ", mine, " came to gather ", place.number,
                     " after other ranks had waited for it for ", limit.seconds,
                     " s ", limit.name));
  return absl::DeadlineExceededError(absl::StrCat(
      "rank ", last, " answered after ", absl::StrFormat("%.4g", last_s),
      " s, expected within ", limit.seconds, " s ", limit.name, " for gather ",
      place.number));
}

}  // namespace banyan
