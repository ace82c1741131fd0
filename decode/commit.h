// The facts of a round, and what ends it wherever it ran.
#ifndef BANYAN_DECODE_COMMIT_H_
#define BANYAN_DECODE_COMMIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "decode/sequence.h"
#include "decode/target_facts.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

// What each phase took, by the round's clock: of all sequences together.
struct PhaseTimes {
  std::vector<std::int64_t> draft_ns;  // by trunk
  std::int64_t derive_ns = 0;          // merging and flattening
  std::int64_t target_ns = 0;
  std::int64_t verify_ns = 0;
  std::int64_t commit_ns = 0;
  // Of a round that the target's device ran alone: all of it, but for what is
  // kept of it here, which is commit_ns.
  std::int64_t device_ns = 0;

  std::int64_t TotalNs() const;
};

// The facts of one round.
struct RoundRecord {
  DraftTree tree;
  Verdict verdict;               // as verified, before any cut
  std::vector<TokenId> emitted;  // after the cut
  StopReason stopped = StopReason::kNone;
  PhaseTimes times = {};
  int sequences = 1;  // that shared the round, and the rows of its pass
  int pass_tokens = 0;
  TargetFacts facts = {};  // where the sequence keeps them
};

// The verdict's tokens; the nodes of a tree whose rows stay when these tokens
// are kept: the root and what was kept below it, for the last kept token,
// whatever it is, becomes the next root.
std::vector<TokenId> TokensOf(const DraftTree& tree, const Verdict& verdict);
std::vector<int> RowsOf(const Verdict& verdict, const Sequence::Kept& kept);

// Ends a round whose rows the session has committed: the text grows, sessions
// and policies are told. `scores` are the tree's; null: the round ran on the
// device, where the drafter's counterpart was told.
absl::StatusOr<RoundRecord> Conclude(Sequence& sequence,
                                     const Sequence::Kept& kept, DraftTree tree,
                                     Verdict verdict, TargetFacts facts,
                                     const Scores* scores);

}  // namespace banyan

#endif  // BANYAN_DECODE_COMMIT_H_
