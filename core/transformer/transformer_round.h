// TransformerRound runs a device's rounds of one sequence of a transformer,
// together with those of others.
//
// The first round of the same sequences enqueues the steps one by one, and the
// second records them where the device records. Later rounds replay the
// recording with one call, until a text outgrows the bucket of lengths that the
// recording is for.
#ifndef BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_
#define BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/round/plan.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/network.h"
#include "core/transformer/round_steps.h"
#include "core/transformer/sequence.h"

namespace banyan {

class TransformerRound : public DeviceRound {
 public:
  // A drafter for each of the plan's, in its order; null for those whose trees
  // are uploaded. Unimplemented if a drafter is on another device.
  static absl::StatusOr<std::unique_ptr<DeviceRound>> Create(
      TransformerSequence& sequence, RoundPlan plan,
      std::vector<std::unique_ptr<TransformerDrafter>> drafters);
  // DeviceRounds::RunRounds, of rounds of one plan.
  static absl::StatusOr<RoundsFound> Run(
      absl::Span<TransformerRound* const> rounds);

  absl::Status Begin(const Context& context) override;
  int longest_text() const override;
  int shortest_text() const override;
  absl::Status Upload(int drafter, const UploadedTree& tree) override {
    return steps_->Upload(drafter, tree);
  }
  const Scores& scores() const override { return *scores_; }
  absl::StatusOr<std::vector<double>> Proposal(int drafter, int node) override {
    return steps_->Proposal(drafter, node);
  }

 private:
  // Rounds that are run together.
  struct Joined {
    std::vector<TransformerRound*> members;
    std::shared_ptr<Workspace> workspace;  // has what the last round scored
    bool asked = false;
    std::unique_ptr<Recording> recording = nullptr;
  };

  TransformerRound(TransformerSequence& sequence,
                   std::vector<std::unique_ptr<TransformerDrafter>> drafters)
      : sequence_(sequence), drafters_(std::move(drafters)) {}

  const Network& network() const { return sequence_.network(); }
  Backend& backend() const { return network().backend(); }
  // What these rounds share, newly made if they were not together before, or
  // one of them needs more room.
  static absl::StatusOr<std::shared_ptr<Joined>> JoinedOf(
      absl::Span<TransformerRound* const> rounds);
  // Every step of a round.
  static absl::Status Ask(const Joined& joined);
  static absl::Status Draft(const Joined& joined, std::size_t drafter);
  bool HasRoom() const {
    return bucket_ > 0 && steps_->target_length() <= bucket_;
  }
  absl::Status MakeRoom();
  absl::StatusOr<RoundFindings> Read();

  // A drafter's own sequence; null: it has none.
  TransformerSequence* OwnOf(std::size_t drafter) const {
    return drafters_[drafter] == nullptr
               ? nullptr
               : drafters_[drafter]->traits().sequence;
  }

  TransformerSequence& sequence_;
  const std::vector<std::unique_ptr<TransformerDrafter>> drafters_;
  std::unique_ptr<RoundSteps> steps_;
  std::unique_ptr<Scores> scores_;
  int bucket_ = 0;  // the longest committed text that there is room for
  std::shared_ptr<Joined> joined_;  // of the last round
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_
