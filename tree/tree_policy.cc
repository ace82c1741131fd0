#include "tree/tree_policy.h"

#include <cstddef>
#include <numeric>
#include <vector>

#include "tree/trunk_tree.h"

namespace banyan {

std::vector<int> TreePolicy::Keep(const TrunkTree& tree) const {
  std::vector<int> all(static_cast<std::size_t>(tree.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace banyan
