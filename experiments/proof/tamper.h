// Controls that hand a right verifier a tree that lost the truth about its
// draws, or rows that are not all the target's.
#ifndef BANYAN_EXPERIMENTS_PROOF_TAMPER_H_
#define BANYAN_EXPERIMENTS_PROOF_TAMPER_H_

#include <memory>
#include <vector>

#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"
#include "verifiers/verifier.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_TAMPER_H_
