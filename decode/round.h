// One round of speculation: draft, derive, score, verify, commit, record.
#ifndef BANYAN_DECODE_ROUND_H_
#define BANYAN_DECODE_ROUND_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/context.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/random/random_source.h"
#include "decode/method.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

// When to stop. The end-of-text token itself is emitted and counts; nothing
// after it does, and nothing past the length limit.
struct StopRule {
  std::vector<TokenId> end_of_text;
  int max_new_tokens = 0;
};

enum class StopReason { kNone, kEndOfText, kLength, kContext };
absl::string_view Name(StopReason reason);

// One sequence under way. The session holds every token of the context but the
// last, which is the root of the next tree.
struct Sequence {
  const Model& target;
  std::unique_ptr<Session> session;
  Context context;
  StopRule stop;
  StopReason stopped = StopReason::kNone;
};

// The facts of one round.
struct RoundRecord {
  DraftTree tree;
  Verdict verdict;               // as verified, before any cut
  std::vector<TokenId> emitted;  // after the cut
  StopReason stopped = StopReason::kNone;
};

// Runs one round and commits it. Requires sequence.stopped == kNone. On an
// error nothing is committed.
absl::StatusOr<RoundRecord> RunRound(Method& method, Sequence& sequence,
                                     RandomSource& random);

}  // namespace banyan

#endif  // BANYAN_DECODE_ROUND_H_
