// The tokens a pass that an endless chain of these drafts would give,
//
//   1 + alpha + alpha^2 + ... = 1 / (1 - alpha)
//
// (Leviathan et al. 2022, sections 3.5 and 3.6): what a drafter that costs
// nothing cannot exceed, if every draft is accepted with the same alpha, token
// by token. Alpha is the mean overlap of the lists that verification reached
// and that drew something; of several draws the first counts, for a chain has
// one. Lists are counted over what their overlaps lack, so that prompts can be
// added.
//
// Of cells with one trunk and a lossless verifier: under a lossy one the
// overlap is not the acceptance (alpha.cc). A block judged as a whole may
// exceed the number, a tree too.
#include "experiments/metrics/counters.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {

void CountEndlessChain(const PromptPair& pair, Counts& counts) {
  if (pair.cell->trunks_size() != 1 || !pair.cell->lossless()) return;
  for (const records::Round& round : pair.record->rounds())
    ForReachedLists(round, [&](const records::DrawList& list, int) {
      if (list.tokens_size() == 0) return;
      Part& part = counts.parts[""];
      part.over += 1;
      part.under += 1 - list.overlap();
    });
}

}  // namespace banyan
