// RoundTables: the lists of a speculation round that a device runs without the
// host, and the steps that fill them.
//
//   tables.Select(0);
//   for each level of tables.widths():
//     logits = ... of the level's nodes (draft_rows), one row each ...
//     tables.Draw(level, logits, ...);
//     tables.Select(level + 1);
//   logits = ... of the drafted tree (target_rows) ...
//   tables.Verify(logits);
//   tables.Keep(...);            // of keys and values, the accepted path's
//   findings = tables.Read();    // the only step that waits
//
// All steps but Begin and Read only enqueue work and can be recorded. A round
// on the host with the same logits, rules and seed makes the same tree, draws
// the same tokens and reaches the same verdict: the host and the device compute
// distributions with core/base/draw_math.h.
#ifndef BANYAN_CORE_OPS_ROUND_TABLES_H_
#define BANYAN_CORE_OPS_ROUND_TABLES_H_

#include <vector>

#include "core/base/common.h"
#include "core/ops/op_args.h"
#include "core/prob/round_plan.h"

namespace banyan {

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

struct RoundTablesOptions {
  RoundPlan plan;
  int vocab_size = 0;
  int used_vocab = 0;        // of the target: tokens that may be emitted
  int draft_used_vocab = 0;  // of the drafter
  // By token: which of the drafter's logits is its own, -1 if none; empty: they
  // are in the tokens' order.
  std::vector<int> draft_columns = {};
  // The drafter's rows are pairs (ScoreRequest::vectors): a row stands a place
  // before its token, and keeps what is kept of a round by reading it again
  // before the next root, with the target's states. Else its own rows stay.
  bool draft_rereads = false;
  // One draft distribution per level, whatever the path; else one per node.
  bool law_by_depth = false;
  int most_levels = 0;  // that the drafter can draft
};

class RoundTables {
 public:
  virtual ~RoundTables() = default;

  // By level: the most nodes that are proposed for.
  virtual const std::vector<int>& widths() const = 0;
  // What the two sessions hold: `target` tokens, all but the root, and `draft`,
  // as many or one less; of pairs all but the root's.
  virtual absl::Status Begin(const RoundStart& start, int target,
                             int draft) = 0;

  // Chooses the nodes of a level that are proposed for, once the level above
  // was drawn.
  virtual absl::Status Select(int level) = 0;
  // Their rows in the drafter's pass; at level 0 what it has not read of the
  // text stands right before the root, which is the last.
  virtual DeviceRows draft_rows(int level) const = 0;
  virtual int all_draft_rows() const = 0;  // of all levels
  // Computes the distributions of a level's nodes from rows of logits, and
  // draws from them.
  virtual absl::Status Draw(int level, const Tensor& logits) = 0;
  // The tree, depth first. After the Select() below the last level.
  virtual DeviceRows target_rows() const = 0;
  virtual absl::Status Verify(const Tensor& logits) = 0;
  // Moves the keys and values of the kept rows to just after the committed
  // ones, in the target's caches and in those of a drafter that ran draft_rows.
  virtual absl::Status Keep(absl::Span<KvCache* const> target,
                            absl::Span<KvCache* const> draft) = 0;
  // After Verify(): the target's rows of the root and the accepted path, the
  // last ones of a list with a place more than levels; -1 before them, and
  // everywhere if the round failed.
  virtual Ints kept_rows() const = 0;

  // Waits. Fails as SamplingRule::Apply does on a row that was read; the round
  // then changed nothing.
  virtual absl::StatusOr<RoundFindings> Read() = 0;
  // Committed tokens of the two sessions, as of the last Read().
  virtual int target_length() const = 0;
  virtual int draft_length() const = 0;
  // What the drafter's masses were at a node of the last round: a number a
  // token. Waits.
  virtual absl::StatusOr<std::vector<double>> Proposal(int node) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_ROUND_TABLES_H_
