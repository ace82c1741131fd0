// TransformerRound runs a device's rounds of one sequence of a transformer.
//
// The first round enqueues the steps one by one, and the second records them.
// Later rounds replay the recording with one call, until the text outgrows the
// bucket of lengths that the recording is for.
#ifndef BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_
#define BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/round_tables.h"
#include "core/prob/round_plan.h"
#include "core/transformer/device_drafter.h"
#include "core/transformer/network.h"
#include "core/transformer/sequence.h"

namespace banyan {

class TransformerRound : public DeviceRound {
 public:
  // `drafter` is null for a plan of the root alone. Unimplemented if the device
  // has no counterparts of the plan, or the drafter is on another device.
  static absl::StatusOr<std::unique_ptr<DeviceRound>> Create(
      TransformerSequence& sequence, const RoundPlan& plan,
      std::unique_ptr<TransformerDrafter> drafter);

  absl::Status Begin(const Context& context) override;
  int longest_text() const override;
  int shortest_text() const override;
  absl::StatusOr<RoundFindings> Run() override;
  const Scores& scores() const override { return *scores_; }
  absl::StatusOr<std::vector<double>> Proposal(int node) override {
    return tables_->Proposal(node);
  }

 private:
  TransformerRound(TransformerSequence& sequence,
                   std::unique_ptr<TransformerDrafter> drafter);

  Backend& backend() const { return sequence_.network().backend(); }
  // Room for a longer text, once the bucket is too short.
  absl::Status GrowBucket();
  // Every step of a round.
  absl::Status Ask();

  TransformerSequence& sequence_;
  const std::unique_ptr<TransformerDrafter> drafter_;
  TransformerSequence* const draft_sequence_;  // null: it has none
  std::shared_ptr<Workspace> workspace_;
  std::unique_ptr<RoundTables> tables_;
  std::unique_ptr<Scores> scores_;
  int bucket_ = 0;      // the longest committed text that there is room for
  bool asked_ = false;  // since the bucket grew
  std::unique_ptr<Recording> recording_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_TRANSFORMER_ROUND_H_
