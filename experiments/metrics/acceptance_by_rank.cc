// Which draw of a list was accepted, over all lists at the nodes reached that
// have draws: unconditional, as Sequoia's optimiser wants it. Of a token that
// was drawn twice the first draw counts.
#include "absl/strings/str_cat.h"
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAcceptanceByRank(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds())
    ForReachedLists(round, [&](const records::DrawList& list, int accepted) {
      if (list.tokens_size() == 0) return;
      counts.every.under += 1;
      const int hit = accepted < 0 ? -1 : FirstDrawOf(list, accepted);
      // Ranks that were drawn and never accepted have a key too.
      for (int draw = 0; draw < list.tokens_size(); ++draw)
        counts.parts[absl::StrCat("rank ", draw + 1)].over +=
            draw == hit ? 1 : 0;
    });
}

}  // namespace banyan
