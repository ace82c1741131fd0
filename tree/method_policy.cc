#include "tree/method_policy.h"

#include <vector>

#include "core/base/check.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

std::vector<Expansion> MethodPolicy::Next(const TrunkTree& /*tree*/) const {
  Check(false, "a policy of all drafters was asked for one trunk's tree");
  return {};
}

}  // namespace banyan
