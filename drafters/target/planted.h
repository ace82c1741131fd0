// Which nodes of a merged tree are a drafter's probes.
#ifndef BANYAN_DRAFTERS_TARGET_PLANTED_H_
#define BANYAN_DRAFTERS_TARGET_PLANTED_H_

#include <vector>

#include "tree/draft_tree.h"

namespace banyan {

// The probes of one trunk, in the order of nodes: depth first, siblings as they
// were planted.
std::vector<int> PlantedBy(int trunk, const DraftTree& tree);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_PLANTED_H_
