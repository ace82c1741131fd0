// Medusa heads as `banyan grow` asks for them (drafters/heads/head_growth.h).
#ifndef BANYAN_DRAFTERS_HEADS_MEDUSA_GROWTH_H_
#define BANYAN_DRAFTERS_HEADS_MEDUSA_GROWTH_H_

#include <string>

#include "absl/status/statusor.h"
#include "drafters/heads/head_growth.h"

namespace banyan {

// Facts: `heads`, `blocks` of each, and `own_matrices`, whether each has an
// output matrix of its own. Fails as MedusaFile::Open.
absl::StatusOr<GrowableHeads> OpenGrowableMedusa(const std::string& directory,
                                                 const GrowingTarget& target);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_MEDUSA_GROWTH_H_
