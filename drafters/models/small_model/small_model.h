// A language model as drafter: its own session follows the committed text
// (SessionDrafter). It reads the prompt when it begins, as the target does, and
// after a round keeps the rows of the accepted path.
#ifndef BANYAN_DRAFTERS_MODELS_SMALL_MODEL_SMALL_MODEL_H_
#define BANYAN_DRAFTERS_MODELS_SMALL_MODEL_SMALL_MODEL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/session_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

class SmallModel : public SessionDrafter {
 public:
  // Keys: `model`, and `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  SmallModel(std::shared_ptr<const Model> model, SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<DrafterTwin> OnDevice(DraftLaw law) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_MODELS_SMALL_MODEL_SMALL_MODEL_H_
