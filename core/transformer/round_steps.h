// RoundSteps: a round's lists in a device's memory, and its steps asked of the
// device:
//
//   for each drafter, for each level:
//     steps.Select(drafter, level);
//     logits = ... of the level's nodes (draft_rows), one row each ...
//     steps.Draw(drafter, level, logits);
//   and Select once more, below its last level
//   steps.Merge();
//   logits = ... of the merged tree (target_rows) ...
//   steps.Judge(logits);
//   steps.Keep(...);            // of keys and values, the accepted path's
//   findings = steps.Read();    // the only step that waits
//
// All but Begin and Read only enqueue work and can be recorded. A round of
// decode/round.h with the same logits, rules and seed makes the same tree,
// draws the same tokens and reaches the same verdict.
#ifndef BANYAN_CORE_TRANSFORMER_ROUND_STEPS_H_
#define BANYAN_CORE_TRANSFORMER_ROUND_STEPS_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/round_args.h"
#include "core/round/laid_out.h"
#include "core/round/plan.h"

namespace banyan {

class RoundSteps {
 public:
  // The backend outlives it.
  static absl::StatusOr<std::unique_ptr<RoundSteps>> Create(Backend& backend,
                                                            RoundPlan plan);

  const LaidOut& laid_out() const { return laid_out_; }
  // What the sessions hold: the target's all but the root, a drafter's as many
  // or fewer.
  absl::Status Begin(const RoundStart& start);

  // The tree of a drafter of UploadedShape, for the next round. Waits.
  absl::Status Upload(int drafter, const UploadedTree& tree);

  // Chooses the nodes of a level that are proposed for, once the level above
  // was drawn.
  absl::Status Select(int drafter, int level);
  // Their rows in the drafter's pass; at level 0 what it has not read of the
  // text stands right before the root, which is the last.
  DeviceRows draft_rows(int drafter, int level) const;
  // Computes the distributions of a level's nodes from rows of logits, and
  // draws from them.
  absl::Status Draw(int drafter, int level, const Tensor& logits);
  absl::Status Merge() { return Run(MergeArgs()); }
  DeviceRows target_rows() const;
  absl::Status Judge(const Tensor& logits);
  // Moves the keys and values of the kept rows to just after the committed
  // ones, in the target's caches (-1) or in those of a drafter that ran
  // draft_rows.
  absl::Status Keep(int drafter, absl::Span<KvCache* const> caches) {
    return Run(KeepArgs{drafter, caches});
  }
  // After Judge(): the target's rows of the root and the accepted path, the
  // last ones of a list with a place more than levels; -1 before them, and
  // everywhere if the round failed.
  Ints kept_rows() const;

  // Waits. Fails as LaidOut::Read; the round then changed nothing.
  absl::StatusOr<RoundFindings> Read();
  // Committed tokens of the sessions, as of the last Read().
  int target_length() const { return target_length_; }
  int draft_length(int drafter) const {
    return draft_lengths_[static_cast<std::size_t>(drafter)];
  }
  // What a drafter's masses were at a row of the last round: a number a token.
  // Waits.
  absl::StatusOr<std::vector<double>> Proposal(int drafter, int row);

 private:
  RoundSteps(Backend& backend, RoundPlan plan)
      : backend_(backend), laid_out_(std::move(plan)) {}

  absl::Status Allocate();
  absl::Status Run(const RoundStep& step) {
    return backend_.RunStep(memory_, step);
  }
  const DrafterLayout& of(int drafter) const {
    return laid_out_.layout().drafters[drafter];
  }

  Backend& backend_;
  const LaidOut laid_out_;
  RoundMemory memory_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Buffer* banned_target_ = nullptr;
  std::vector<Buffer*> banned_, columns_;  // by drafter
  std::vector<int> found_;                 // the integers of the last Read()
  int target_length_ = 0;
  std::vector<int> draft_lengths_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_ROUND_STEPS_H_
