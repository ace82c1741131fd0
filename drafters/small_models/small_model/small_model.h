// A language model as drafter: its own session follows the committed text
// (SessionDrafter). It reads the prompt when it begins, as the target does, and
// after a round keeps the rows of the accepted path.
#ifndef BANYAN_DRAFTERS_SMALL_MODELS_SMALL_MODEL_SMALL_MODEL_H_
#define BANYAN_DRAFTERS_SMALL_MODELS_SMALL_MODEL_SMALL_MODEL_H_

#include <memory>

#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/session_drafter.h"

namespace banyan {

class SmallModel : public SessionDrafter {
 public:
  SmallModel(std::shared_ptr<const Model> model, SamplingRule rule);

  std::unique_ptr<DraftSession> NewSession() const override;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SMALL_MODELS_SMALL_MODEL_SMALL_MODEL_H_
