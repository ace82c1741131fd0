// OrElse: one drafter, or else a second one in rounds for which the first has
// nothing to draft (SAM decoding with an auxiliary drafter, Hu et al.,
// arXiv:2411.10666).
//
// Rule. The first drafter has the round if it promises more than 0 tokens or
// has no opinion (DraftSession::Promise), and its longest text is not reached;
// else the second one drafts, at most `depth` levels.
#ifndef BANYAN_DRAFTERS_COMPOSED_OR_ELSE_OR_ELSE_H_
#define BANYAN_DRAFTERS_COMPOSED_OR_ELSE_OR_ELSE_H_

#include <memory>

#include "drafters/composed/composed_drafter.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"

namespace banyan {

class OrElse : public ChoosingDrafter {
 public:
  // Of two parts.
  OrElse(InnerDrafters parts, int depth);

  std::unique_ptr<DraftSession> NewSession() const override;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_OR_ELSE_OR_ELSE_H_
