#include "drafters/drafter.h"

#include <vector>

#include "tree/draft_tree.h"

namespace banyan {

std::vector<DraftLaw> EveryLaw() {
  return {kEveryLaw.begin(), kEveryLaw.end()};
}

}  // namespace banyan
