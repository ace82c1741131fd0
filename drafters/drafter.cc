#include "drafters/drafter.h"

#include <vector>

#include "tree/draft_tree.h"

namespace banyan {

std::vector<DrawKind> EveryDrawKind() {
  return {kDrawKinds.begin(), kDrawKinds.end()};
}

}  // namespace banyan
