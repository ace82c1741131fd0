// Which token each logit of a head means, where it has logits for some of its
// target's tokens alone.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_TOKEN_MAP_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_TOKEN_MAP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "drafters/heads/eagle/layouts.h"

namespace banyan {

// The table that leads from a logit to the target's token, and the one that
// says whether a token has a logit.
inline constexpr char kLogitMap[] = "d2t";
inline constexpr char kKept[] = "t2d";

// EagleFile::token_of, of an open head. Fails with InvalidArgument, which names
// directory and table, where a table is of another shape or type, leads out of
// the target's vocabulary, or contradicts the other one or draft_vocab_size.
absl::StatusOr<std::vector<TokenId>> ReadTokens(const Checkpoint& checkpoint,
                                                const EagleTarget& target,
                                                const EagleSpec& spec);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_TOKEN_MAP_H_
