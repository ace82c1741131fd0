// What a target pass gives, and how likely a draft is accepted.
#include <vector>

#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/metrics/themes.h"
#include "experiments/records/prompt_pair.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

// Tokens per target pass. A round is one pass of the target.
void CountTokensPerPass(const PromptPair& pair, Counts& counts) {
  Part& part = counts.parts[""];
  part.over += pair.record->tokens_size();
  part.under += pair.record->rounds_size();
}

// Accepted tokens per target pass, those that a stop rule cut left out.
void CountAcceptedPerPass(const PromptPair& pair, Counts& counts) {
  if (pair.cell->trunks_size() == 0) return;
  Part& part = counts.parts[""];
  for (const records::Round& round : pair.record->rounds()) {
    part.over += KeptOfPath(round);
    part.under += 1;
  }
}

// The mean overlap of target and draft, sum over x of min(p(x), q(x)), where
// verification looked: how likely a list's first draw is accepted alone.
//
// Of lossless verifiers. A lossy one accepts by a rule of its own, Leviathan's
// lenience l by sum min(p / l, q) for one, and the records have no distribution
// to take that from; acceptance_by_depth counts what it accepted.
void CountAlpha(const PromptPair& pair, Counts& counts) {
  if (!pair.cell->lossless()) return;
  for (const records::Round& round : pair.record->rounds())
    ForReachedLists(round, [&](const records::DrawList& list, int) {
      Part& part = counts.parts[""];
      part.over += list.overlap();
      part.under += 1;
    });
}

// Counts the tokens per pass of an endless chain of these drafts,
//
//   1 + alpha + alpha^2 + ... = 1 / (1 - alpha)
//
// (Leviathan et al. 2022, sections 3.5 and 3.6): the limit of a drafter that
// costs nothing, if every draft is accepted with the same alpha, token by
// token. Alpha is the mean acceptance rate over the lists that verification
// reached and that drew something; of several draws the first counts, since a
// chain has one. The ratio is lists over the sum of 1 - alpha, so that prompts
// can be added.
//
// Only for cells with one trunk and a lossless verifier: a lossy one accepts
// by another rule than alpha. Block verification and trees may exceed the
// limit.
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

}  // namespace

std::vector<MetricRow> PassesMetrics() {
  return {
      {"tokens_per_pass",
       "Tokens a target pass gave, the correction or bonus counted.", "tokens",
       Form::kRatio, CountTokensPerPass},
      {"accepted_per_pass",
       "Drafted tokens a target pass kept, without correction or bonus.",
       "tokens", Form::kRatio, CountAcceptedPerPass},
      {"alpha",
       "Mean of sum(min(p, q)) over the draw lists that verification reached. "
       "Of lossless verifiers.",
       "", Form::kRatio, CountAlpha},
      {"endless_chain",
       "Tokens per pass of an endless chain of such drafts: 1 / (1 - alpha). "
       "Of "
       "one trunk and a lossless verifier.",
       "tokens", Form::kRatio, CountEndlessChain},
  };
}

}  // namespace banyan
