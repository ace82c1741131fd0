// Drafts one trunk's tree.
#ifndef BANYAN_TESTS_SUPPORT_DRAFT_TRUNK_H_
#define BANYAN_TESTS_SUPPORT_DRAFT_TRUNK_H_

#include <utility>

#include "core/base/common.h"
#include "core/model/context.h"
#include "core/random/random_source.h"
#include "drafters/drafting.h"
#include "tree/trunk_tree.h"

namespace banyan {

inline absl::StatusOr<TrunkTree> DraftTrunk(const TrunkView& trunk,
                                            const Context& context,
                                            const DraftLimits& limits,
                                            const Chance& chance) {
  Drafting drafting({trunk}, context, limits, chance);
  BANYAN_RETURN_IF_ERROR(DraftAll({&drafting, 1}));
  return std::move(std::move(drafting).Take().front());
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_DRAFT_TRUNK_H_
