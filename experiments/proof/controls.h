// Controls: methods broken on purpose, each with one mistake that is known in
// the field. The tests check that the proofs catch every control. `control:
// NAME` in a file for `banyan exact` shows how far a mistake moves the output
// distribution.
#ifndef BANYAN_EXPERIMENTS_PROOF_CONTROLS_H_
#define BANYAN_EXPERIMENTS_PROOF_CONTROLS_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "verifiers/verifier.h"

namespace banyan {

struct ControlRow {
  absl::string_view name;
  absl::string_view sentence;  // what is wrong
  // Makes the broken verifier. May use `right`, the verifier of the file, and
  // the sampling rule of the target's distributions.
  std::unique_ptr<Verifier> (*wrap)(std::unique_ptr<Verifier> right,
                                    const SamplingRule& rule) = nullptr;
  // Broken chance over honest chance.
  std::unique_ptr<RandomSource> (*chance)(RandomSource& honest) = nullptr;
  // Rounds to enumerate jointly; 0: each by itself.
  int rounds = 0;
};

absl::Span<const ControlRow> ControlCatalogue();

// The row a configuration names; an error with the nearest known name.
absl::StatusOr<const ControlRow*> FindControl(const Params& name);

// Controls that hand a right verifier a tree that lost the truth about its
// draws, or rows that are not all the target's.

// Changes draws, never nodes: a verdict's path stays valid.
using Tampering = void (*)(std::vector<Node>& nodes);

// `right` on the tree after `tampering`.
std::unique_ptr<Verifier> Tampered(std::unique_ptr<Verifier> right,
                                   Tampering tampering);
// Returns `right` without its demands on draws: draw kinds, counts fixed before
// the first draw, and no draws shared by nodes.
std::unique_ptr<Verifier> Undemanding(std::unique_ptr<Verifier> right);
// Returns `right` with the temperature of `rule` undone in the rows of nodes
// without draws, as in the sampler published with EAGLE-1. Unlike that sampler,
// tokens that the rule truncates stay excluded.
std::unique_ptr<Verifier> UntemperedBonus(std::unique_ptr<Verifier> right,
                                          const SamplingRule& rule);

void MergeRepeats(std::vector<Node>& nodes);
void GroupRepeats(std::vector<Node>& nodes);
void KeepLastProposal(std::vector<Node>& nodes);
void SortByProbability(std::vector<Node>& nodes);
void SortByToken(std::vector<Node>& nodes);
void PruneUnlikely(std::vector<Node>& nodes);
void UseTwice(std::vector<Node>& nodes);
void IgnoreLaw(std::vector<Node>& nodes);
void ReverseTime(std::vector<Node>& nodes);
void CutToOneNode(std::vector<Node>& nodes);
void FlattenProposals(std::vector<Node>& nodes);

// Sources of chance that reuse what they gave before.

// Every round gets the coins and draws of the first, where they still fit.
std::unique_ptr<RandomSource> SameEveryRound(RandomSource& honest);
// All draws at a node are judged by one coin.
std::unique_ptr<RandomSource> OneCoinANode(RandomSource& honest);

// Verifiers that are wrong in one step each. Not for use: for comparison.

// The rounds of multi_round, with a wrong residual after a refusal.
std::unique_ptr<Verifier> ResidualNotNormalised();
std::unique_ptr<Verifier> ResidualIsTarget();
// match that draws again after a miss.
std::unique_ptr<Verifier> DrawsAgainAfterMiss();
// block that stops at the first coin that fails.
std::unique_ptr<Verifier> StopsAtFirstFailure();
// traversal that divides by the draft mass that remains, instead of S + 1 - a;
// and traversal that forgets a refused node's other draws.
std::unique_ptr<Verifier> DividesByDraftMass();
std::unique_ptr<Verifier> ErasesRefusedDraws();

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_CONTROLS_H_
