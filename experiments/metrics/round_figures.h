// What several metrics need of a round.
#ifndef BANYAN_EXPERIMENTS_METRICS_ROUND_FIGURES_H_
#define BANYAN_EXPERIMENTS_METRICS_ROUND_FIGURES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "experiments/records/record.pb.h"

namespace banyan {

// What several metrics ask of a round.

// How many sequences shared the round. Each is charged an equal share of its
// times, so that the sums over a batch's prompts are the times of the batch.
int Sequences(const records::Round& round);
// The rows of the target's pass: of the trees of all that shared it, probes and
// copies of nodes included.
int PassTokens(const records::Round& round);
// Nanoseconds of drafting, over all trunks: this sequence's share.
double DraftNs(const records::Round& round);
// Of the target's pass, and of all phases.
double TargetNs(const records::Round& round);
double RoundNs(const records::Round& round);
// Whether the target's device ran a round alone: such rounds have no phases.
bool HasDeviceRounds(const records::PromptRecord& record);
// Of all rounds; the prefill is not in it.
double RoundsNs(const records::PromptRecord& record);
double TargetNs(const records::PromptRecord& record);
// Of the rounds and the prefill: what the prompt added to the time of its cell.
double WallNs(const records::PromptRecord& record);
// From its admission to its end; alone that is the same.
double LatencyNs(const records::PromptRecord& record);

// The probe at a node; null if somebody drew the node.
const records::Probe* ProbeAt(const records::Round& round, int node);
// Drafted nodes: all but the root and the probes.
int DraftedNodes(const records::Round& round);
// The depth of the deepest drafted node; the root has none.
int Levels(const records::Round& round);
// The levels that each of the cell's trunks drafted: the depth of the deepest
// node that a draw of it leads to. The largest is that of the drawn tree.
std::vector<int> LevelsByTrunk(const records::Round& round, int trunks);
// The node of depth `depth` on the accepted path; 0 is the root.
int PathNode(const records::Round& round, int depth);
// Accepted tokens that were kept: fewer than the path if a stop rule cut.
int KeptOfPath(const records::Round& round);

// Calls `visit` with every list of draws at the root or on the accepted path,
// and with the accepted child of its node, or -1.
void ForReachedLists(
    const records::Round& round,
    absl::FunctionRef<void(const records::DrawList&, int)> visit);

// The place of the first draw that was kept as node `child`; -1: none was.
int FirstDrawOf(const records::DrawList& list, int child);

struct ListAndDraw {
  const records::DrawList* list;
  int draw;
};
// The first draw of each trunk that led to a node, in the order of time.
std::vector<ListAndDraw> FirstDrawsTo(const records::Round& round, int node);

// "trunk 0 ngram".
std::string TrunkKey(const records::Cell& cell, int trunk);

// Cost of one draft level.

// Returns the cost of one level of a round, without the target pass: `draft`
// divided by `levels`, plus `around` (deriving, verifying, committing) divided
// by levels + 1, since the root is a level there too. Requires levels >= 1.
inline double CostOfLevel(double draft, double around, int levels) {
  return draft / levels + around / (levels + 1);
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_ROUND_FIGURES_H_
