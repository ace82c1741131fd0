// What a target pass gives, and how likely a draft is accepted.
#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"

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

// Where in the tree drafts are accepted.

namespace {

constexpr int kMostAtRoot = 5;

// Unconditional acceptance: the papers' plots of "at least d accepted". Paths
// count as they were verified: what a stop rule cut was accepted all the same.
void CountAcceptanceByDepth(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds()) {
    counts.every.under += 1;
    // Depths that were drafted and never accepted have a key too.
    const int levels = Levels(round);
    for (int depth = 1; depth <= levels; ++depth)
      counts.parts[absl::StrCat("depth ", depth)].over +=
          depth <= round.path_size() ? 1 : 0;
  }
}

// Probes aside.
bool HasChild(const records::Round& round, int node) {
  for (int child = 1; child < round.parents_size(); ++child)
    if (round.parents(child) == node && ProbeAt(round, child) == nullptr)
      return true;
  return false;
}

// Acceptance at depth d among the rounds that came that far: d - 1 tokens were
// accepted, and the last of them had a child.
void CountConditionalAcceptance(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds())
    for (int depth = 1; depth <= round.path_size() + 1; ++depth) {
      if (!HasChild(round, PathNode(round, depth - 1))) continue;
      Part& part = counts.parts[absl::StrCat("depth ", depth)];
      part.over += depth <= round.path_size() ? 1 : 0;
      part.under += 1;
    }
}

// Which draw of a list was accepted, over all lists at the nodes reached that
// have draws: unconditional, as Sequoia's optimiser wants it. Of a token that
// was drawn twice the first draw counts.
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

// The target's mass of the first tokens of a list at the root: of none, of one,
// of two, and so on up to kMostAtRoot.
std::vector<double> MassesAtRoot(const records::Round& round,
                                 const records::DrawList& list) {
  std::vector<double> masses = {0};
  std::set<int> seen;
  for (const int child : list.children())
    if (child >= 0 && seen.insert(child).second &&
        static_cast<int>(masses.size()) <= kMostAtRoot)
      masses.push_back(masses.back() + round.target_probability(child));
  return masses;
}

// A round in which a trunk has fewer tokens counts with those, and one in which
// it has none too.
void CountSuccessAtRoot(const PromptPair& pair, Counts& counts) {
  for (const records::Round& round : pair.record->rounds()) {
    if (round.target_probability_size() == 0) continue;  // an old record
    counts.every.under += 1;
    for (const records::DrawList& list : round.lists()) {
      if (list.node() != 0) continue;
      const std::vector<double> masses = MassesAtRoot(round, list);
      for (std::size_t n = 1; n <= kMostAtRoot; ++n)
        counts.parts[absl::StrCat(TrunkKey(*pair.cell, list.trunk()), ", ", n)]
            .over += masses[std::min(n, masses.size() - 1)];
    }
  }
}

// Whose tokens were accepted. A token of several trunks belongs to the one that
// drew it first.
void CountAcceptanceByTrunk(const PromptPair& pair, Counts& counts) {
  for (int trunk = 0; trunk < pair.cell->trunks_size(); ++trunk)
    counts.parts[TrunkKey(*pair.cell, trunk)];
  for (const records::Round& round : pair.record->rounds())
    for (const int node : round.path()) {
      counts.every.under += 1;
      const std::vector<ListAndDraw> draws = FirstDrawsTo(round, node);
      if (draws.empty()) continue;
      const int trunk = draws.front().list->trunk();
      counts.parts[TrunkKey(*pair.cell, trunk)].over += 1;
    }
}

// What a trunk adds to the others: accepted tokens that it alone proposed.
// Those after them on the path count for whoever proposed them.
void CountGainByTrunk(const PromptPair& pair, Counts& counts) {
  for (int trunk = 0; trunk < pair.cell->trunks_size(); ++trunk)
    counts.parts[TrunkKey(*pair.cell, trunk)];
  for (const records::Round& round : pair.record->rounds()) {
    counts.every.under += 1;
    for (const int node : round.path()) {
      const std::vector<ListAndDraw> draws = FirstDrawsTo(round, node);
      if (draws.size() != 1) continue;
      const int trunk = draws.front().list->trunk();
      counts.parts[TrunkKey(*pair.cell, trunk)].over += 1;
    }
  }
}

// The histogram of accepted lengths, as verified.
void CountAcceptedLengths(const PromptPair& pair, Counts& counts) {
  if (pair.cell->trunks_size() == 0) return;
  for (const records::Round& round : pair.record->rounds()) {
    counts.parts[absl::StrCat("length ", round.path_size())].over += 1;
    counts.every.under += 1;
  }
}

}  // namespace

std::vector<MetricRow> AcceptanceMetrics() {
  return {
      {"acceptance_by_depth",
       "Share of all rounds that accepted at least N tokens.", "", Form::kRatio,
       CountAcceptanceByDepth},
      {"conditional_acceptance_by_depth",
       "Share of the rounds that accepted one token fewer and had drafted "
       "another after it.",
       "", Form::kRatio, CountConditionalAcceptance},
      {"acceptance_by_rank",
       "How often the draw of this rank was the accepted one, of all nodes "
       "that verification reached and that had draws.",
       "", Form::kRatio, CountAcceptanceByRank},
      {"success_at_root",
       "Mass that the target gives the first N tokens of this trunk at the "
       "root, together; of fewer tokens, all of them.",
       "", Form::kRatio, CountSuccessAtRoot},
      {"acceptance_by_trunk",
       "Share of the accepted tokens that this trunk proposed before any "
       "other.",
       "", Form::kRatio, CountAcceptanceByTrunk},
      {"gain_by_trunk",
       "Accepted tokens per pass that no other trunk had proposed.", "tokens",
       Form::kRatio, CountGainByTrunk},
      {"accepted_lengths",
       "Share of the rounds that accepted exactly N tokens.", "", Form::kRatio,
       CountAcceptedLengths},
  };
}

}  // namespace banyan
