#include "drafters/target/planted.h"

#include <vector>

#include "tree/draft_tree.h"

namespace banyan {

std::vector<int> PlantedBy(int trunk, const DraftTree& tree) {
  std::vector<int> planted;
  for (int node = 0; node < tree.size(); ++node)
    if (tree.node(node).probe_of == trunk) planted.push_back(node);
  return planted;
}

}  // namespace banyan
