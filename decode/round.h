// One round of speculation: draft, derive, score, verify, commit, record.
#ifndef BANYAN_DECODE_ROUND_H_
#define BANYAN_DECODE_ROUND_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

// The facts of one round.
struct RoundRecord {
  DraftTree tree;
  Verdict verdict;               // as verified, before any cut
  std::vector<TokenId> emitted;  // after the cut
  StopReason stopped = StopReason::kNone;
};

// Runs one round and commits it. Requires sequence.stopped == kNone. On an
// error nothing is committed, and the round may be run again; but if a drafter
// fails to observe the committed round, the sequence cannot go on.
absl::StatusOr<RoundRecord> RunRound(Method& method, Sequence& sequence,
                                     RandomSource& random);

}  // namespace banyan

#endif  // BANYAN_DECODE_ROUND_H_
