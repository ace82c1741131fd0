// One round of speculation: draft, derive, score, verify, commit, record.
#ifndef BANYAN_DECODE_ROUND_H_
#define BANYAN_DECODE_ROUND_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/token.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "decode/target_facts.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

// What each phase took, by the round's clock.
struct PhaseTimes {
  std::vector<std::int64_t> draft_ns;  // by trunk
  std::int64_t derive_ns = 0;          // merging and flattening
  std::int64_t target_ns = 0;
  std::int64_t verify_ns = 0;
  std::int64_t commit_ns = 0;
};

// The facts of one round.
struct RoundRecord {
  DraftTree tree;
  Verdict verdict;               // as verified, before any cut
  std::vector<TokenId> emitted;  // after the cut
  StopReason stopped = StopReason::kNone;
  PhaseTimes times = {};
  TargetFacts facts = {};  // where the sequence keeps them
};

// Runs one round and commits it. Requires sequence.stopped == kNone. On an
// error nothing is committed, and the round may be run again; but if a drafter
// fails to observe the committed round, the sequence cannot go on.
absl::StatusOr<RoundRecord> RunRound(Method& method, Sequence& sequence,
                                     RandomSource& random, const Clock& clock);

}  // namespace banyan

#endif  // BANYAN_DECODE_ROUND_H_
