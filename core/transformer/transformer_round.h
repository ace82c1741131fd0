// TransformerRound runs a device's rounds of one sequence of a transformer.
//
// The first round enqueues the steps one by one, and the second records them
// where the device records. Later rounds replay the recording with one call,
// until the text outgrows the bucket of lengths that the recording is for.
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
  // are uploaded. Unimplemented if a drafter
  // is on another device.
  static absl::StatusOr<std::unique_ptr<DeviceRound>> Create(
      TransformerSequence& sequence, RoundPlan plan,
      std::vector<std::unique_ptr<TransformerDrafter>> drafters);

  absl::Status Begin(const Context& context) override;
  int longest_text() const override;
  int shortest_text() const override;
  absl::Status Upload(int drafter, const UploadedTree& tree) override {
    return steps_->Upload(drafter, tree);
  }
  absl::StatusOr<RoundFindings> Run() override;
  const Scores& scores() const override { return *scores_; }
  absl::StatusOr<std::vector<double>> Proposal(int drafter, int node) override {
    return steps_->Proposal(drafter, node);
  }

 private:
  TransformerRound(TransformerSequence& sequence,
                   std::vector<std::unique_ptr<TransformerDrafter>> drafters)
      : sequence_(sequence), drafters_(std::move(drafters)) {}

  Backend& backend() const { return sequence_.network().backend(); }
  // Room for a longer text, once the bucket is too short.
  absl::Status GrowBucket();
  // Every step of a round.
  absl::Status Ask();
  absl::Status Draft(int drafter);

  // A drafter's own sequence; null: it has none.
  TransformerSequence* OwnOf(std::size_t drafter) const {
    return drafters_[drafter] == nullptr
               ? nullptr
               : drafters_[drafter]->traits().sequence;
  }

  TransformerSequence& sequence_;
  const std::vector<std::unique_ptr<TransformerDrafter>> drafters_;
  std::vector<int> taps_;  // of the target's states, that drafters read
  std::shared_ptr<Workspace> workspace_;
  std::unique_ptr<RoundSteps> steps_;
  std::unique_ptr<Scores> scores_;
  int bucket_ = 0;      // the longest committed text that there is room for
  bool asked_ = false;  // since the bucket grew
  bool records_ = true;
  std::unique_ptr<Recording> recording_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_
