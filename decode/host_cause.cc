#include "decode/host_cause.h"

#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/messages.h"

namespace banyan {
namespace {

struct CauseWords {
  absl::string_view name;
  absl::string_view meaning;
};
constexpr std::array<CauseWords, kHostCauses> kCauses = {{
    {"none", "the device ran it"},
    {"default",
     "the device runs rounds only where `rounds: device` asks it to"},
    {"asked", "the method or --rounds says so"},
    {"no_rounds", "the target's device runs none"},
    {"several_sequences", "several sequences share a pass"},
    {"no_seed", "the source of chance has no seed"},
    {"another_seed", "the rounds before had another seed"},
    {"verifier", "the verifier has no counterpart on the device"},
    {"unmerged", "paths are scored unmerged"},
    {"policy",
     "a tree policy has no counterpart on the device, or its tree cannot be "
     "uploaded"},
    {"shared_draws",
     "nodes share draws, and the drafter's distributions depend on the path"},
    {"drafter", "a drafter has no counterpart on the device"},
    {"features", "a drafter reads the target's features on the host"},
    {"elsewhere", "a drafter's model is not on the target's device"},
    {"long_text", "the text is near the end of a context"},
    {"short_text", "the text is too short for a drafter"},
}};
constexpr std::array<absl::string_view, 3> kRounds = {"auto", "host", "device"};

}  // namespace

absl::string_view Name(RoundsOn rounds) {
  return kRounds[static_cast<std::size_t>(rounds)];
}

std::optional<RoundsOn> RoundsNamed(absl::string_view name) {
  for (std::size_t i = 0; i < kRounds.size(); ++i)
    if (kRounds[i] == name) return static_cast<RoundsOn>(i);
  return std::nullopt;
}

absl::string_view Name(HostCause cause) {
  return kCauses[static_cast<std::size_t>(cause)].name;
}

absl::string_view Meaning(HostCause cause) {
  return kCauses[static_cast<std::size_t>(cause)].meaning;
}

std::string HostRoundsText(const HostRounds& counts, int rounds) {
  int all = 0;
  std::vector<std::string> causes;
  for (const auto& [cause, count] : counts) {
    if (cause == HostCause::kNone || cause == HostCause::kDefault ||
        cause == HostCause::kAsked)
      continue;
    all += count;
    causes.push_back(
        absl::StrCat(count, " ", Name(cause), ": ", Meaning(cause)));
  }
  if (all == 0) return "";
  return absl::StrCat(all, " of ", Counted(rounds, "round"),
                      " ran on the host (", absl::StrJoin(causes, "; "), ")");
}

}  // namespace banyan
