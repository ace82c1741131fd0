// What a device is asked for in a round that it runs without the host: the
// round's steps (core/round/), on lists that lie in its memory.
#ifndef BANYAN_CORE_OPS_ROUND_ARGS_H_
#define BANYAN_CORE_OPS_ROUND_ARGS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/device/buffer.h"
#include "core/ops/op_args.h"
#include "core/round/distribution_step.h"
#include "core/round/layout.h"

namespace banyan {

// The memory of a round. What is null is not there.
struct RoundMemory {
  RoundLayout layout;
  std::uint64_t seed = 0;
  Buffer* book = nullptr;                  // doubles, then integers
  Buffer* draft_distributions = nullptr;   // rows of doubles, one a token
  Buffer* target_distributions = nullptr;  // the same
  Buffer* residual = nullptr;              // one row
  Buffer* seen = nullptr;   // integers: how often a token stands in the text
  Buffer* order = nullptr;  // integers, where rules leave tokens out

  // A part of one of the lists of integers.
  Ints List(book::Integers list, int first, int size) const {
    return {book,
            static_cast<std::size_t>(layout.doubles) * 2 +
                static_cast<std::size_t>(layout.integer_at[list] + first),
            size};
  }
};

// Grows a drafter's tree, and chooses the nodes of a level that are proposed
// for. `rows` rows of the drafter's passes from `first_row` on are the level's.
struct SelectArgs {
  int drafter = 0;
  int level = 0;
  int first_row = 0;
  int rows = 0;
};
// Makes one tree of all drafters'.
struct MergeArgs {};
// Makes the distributions of rows of logits.
struct DistributionArgs {
  DistributionRule rule;
  Buffer* banned = nullptr;   // tokens, each once
  Buffer* columns = nullptr;  // by token: its logit's, -1 if none
  Tensor logits;
  DistributionPlace place;
};
// Draws at the nodes of a level, of which there are at most `width`.
struct DrawArgs {
  int drafter = 0;
  int width = 0;
  int first_distribution = 0;
};
// Judges the merged tree, and notes what is kept.
struct JudgeArgs {};
// Moves the keys and values of kept rows to just after the committed ones.
struct KeepArgs {
  int drafter = -1;  // -1: the target
  absl::Span<KvCache* const> caches;
};

// Rows of one sequence that only the device holds: the contents of TokenBatch
// and the rows' places, as lists of the device. A list may be longer than the
// round has nodes: the rows after the nodes' have token 0 and see themselves
// only.
struct DeviceRows {
  int rows = 0;
  Ints tokens;
  Ints positions;
  Ints visible;  // as AttentionArgs has it
  int visible_words = 0;
  int first_pending = 0;
  Live length;          // committed tokens
  int logits_from = 0;  // the first row whose logits are wanted
  // Of a drafter's: the row of all it ran in the round that each one's parent
  // has, -1 where there is none.
  Ints parents = {};
  Tensor vectors = {};  // what they start from (ScoreRequest::vectors), or none
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_ROUND_ARGS_H_
