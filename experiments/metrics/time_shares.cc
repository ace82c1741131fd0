// Where the time of the rounds goes.
#include <cstdint>

#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/rounds.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountTimeShares(const PromptPair& pair, Counts& counts) {
  const auto add = [&counts](const char* phase, std::int64_t ns) {
    counts.parts[phase].over += static_cast<double>(ns);
    counts.every.under += static_cast<double>(ns);
  };
  for (const records::Round& round : pair.record->rounds()) {
    add("draft", DraftNs(round));
    add("derive", round.derive_ns());
    add("target", round.target_ns());
    add("verify", round.verify_ns());
    add("commit", round.commit_ns());
  }
}

}  // namespace banyan
