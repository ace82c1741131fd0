// The rules by which a drafter's logits become proposals, one for each draw
// kind.
#ifndef BANYAN_DRAFTERS_DRAFT_RULES_H_
#define BANYAN_DRAFTERS_DRAFT_RULES_H_

#include "core/prob/sampling_rule.h"
#include "tree/draft_tree.h"

namespace banyan {

class DraftRules {
 public:
  explicit DraftRules(SamplingRule rule);

  // The given rule; but for deterministic draws at temperature 0, where it
  // leaves one token, the masses of temperature 1, which rank all.
  const SamplingRule& Of(DrawKind draw_kind) const {
    return draw_kind == DrawKind::kDeterministic ? ranking_ : rule_;
  }

 private:
  SamplingRule rule_;
  SamplingRule ranking_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFT_RULES_H_
