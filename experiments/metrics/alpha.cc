// The mean overlap of target and draft, sum over x of min(p(x), q(x)), where
// verification looked: how likely a list's first draw is accepted alone.
//
// Of lossless verifiers. A lossy one accepts by a rule of its own, Leviathan's
// lenience l by sum min(p / l, q) for one, and the records have no distribution
// to take that from; acceptance_by_depth counts what it accepted.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountAlpha(const PromptPair& pair, Counts& counts) {
  if (!pair.cell->lossless()) return;
  for (const records::Round& round : pair.record->rounds())
    ForReachedLists(round, [&](const records::DrawList& list, int) {
      Part& part = counts.parts[""];
      part.over += list.overlap();
      part.under += 1;
    });
}

}  // namespace banyan
