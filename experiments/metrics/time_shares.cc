// Where the time of the rounds goes.
#include <cstdint>

#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountTimeShares(const PromptPair& pair, Counts& counts) {
  const auto add = [&counts](const char* phase, double ns) {
    counts.parts[phase].over += ns;
    counts.every.under += ns;
  };
  for (const records::Round& round : pair.record->rounds()) {
    const auto share = [&round](std::int64_t ns) {
      return static_cast<double>(ns) / Sequences(round);
    };
    add("draft", DraftNs(round));
    add("derive", share(round.derive_ns()));
    add("target", share(round.target_ns()));
    add("verify", share(round.verify_ns()));
    add("commit", share(round.commit_ns()));
    if (round.device_ns() > 0) add("device", share(round.device_ns()));
  }
}

}  // namespace banyan
