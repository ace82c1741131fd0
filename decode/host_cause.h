// Where rounds run, and why one ran on the host that the target's device might
// have run alone.
#ifndef BANYAN_DECODE_HOST_CAUSE_H_
#define BANYAN_DECODE_HOST_CAUSE_H_

#include <map>
#include <optional>
#include <string>

#include "core/base/common.h"

namespace banyan {

enum class RoundsOn {
  kAuto,    // on the device if its rounds are faster there and it can run them
  kHost,    // always here
  kDevice,  // on the device; what it cannot run is an error
};

// "auto", "host", "device"; none for another name.
absl::string_view Name(RoundsOn rounds);
std::optional<RoundsOn> RoundsNamed(absl::string_view name);

// Records have these numbers (records::HostCause).
enum class HostCause {
  kNone,     // it ran on the device
  kDefault,  // the device does not run rounds unless it is asked to
  kAsked,
  kNoRounds,
  kSeveralSequences,  // of old records
  kNoSeed,
  kAnotherSeed,
  kVerifier,
  kUnmerged,
  kPolicy,
  kSharedDraws,
  kDrafter,
  kFeatures,
  kElsewhere,
  kLongText,
  kShortText,
};
inline constexpr int kHostCauses = 16;

// "several_sequences"; what that means, as the end of a sentence.
absl::string_view Name(HostCause cause);
absl::string_view Meaning(HostCause cause);

// Of a run of rounds: how many were the host's, by cause.
using HostRounds = std::map<HostCause, int>;
// "3 of 20 rounds ran on the host (2 long_text: the text is near the end of a
// context)"; empty: none, or as was asked.
std::string HostRoundsText(const HostRounds& counts, int rounds);

}  // namespace banyan

#endif  // BANYAN_DECODE_HOST_CAUSE_H_
