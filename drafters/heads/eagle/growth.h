// EAGLE heads as `banyan grow` asks for them (drafters/head_tools.h).
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_GROWTH_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_GROWTH_H_

#include <string>

#include "absl/status/statusor.h"
#include "drafters/head_tools.h"

namespace banyan {

// The head stays as it is, with its cost: of the grown target's states it reads
// the numbers that were there (`target_coordinates`), and takes the old
// embedding and output matrix along where it borrowed them. With `target.like`
// every size grows by the factor of the target's, rounded up; what it borrows
// it then borrows of the grown target. Facts: `layers`, `taps`, and
// `own_vocabulary`, whether it has logits for some tokens alone. Fails as
// OpenEagleFile, and with InvalidArgument where the width would be no whole
// number or a size too large.
absl::StatusOr<GrowableHeads> OpenGrowableEagle(const std::string& directory,
                                                const GrowingTarget& target);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_GROWTH_H_
