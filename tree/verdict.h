// Verdict: the result of verification. Exactness: whether a method is lossless.
#ifndef BANYAN_TREE_VERDICT_H_
#define BANYAN_TREE_VERDICT_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"

namespace banyan {

struct Verdict {
  // Accepted nodes, from the root's child downwards; empty if none was.
  std::vector<int> path;
  // The token after the path: the correction after a refusal, the bonus after
  // full acceptance.
  TokenId next = 0;
};

// Whether a method's output has the target distribution.
enum class Exactness {
  kLossless,
  kLosslessAtTemperatureZero,
  kLossy,
};

// "lossless", "lossless at temperature 0", "lossy".
absl::string_view Name(Exactness exactness);

// What drafters and policies are told at commit.
struct RoundOutcome {
  const DraftTree& tree;
  const Verdict& verdict;
  int trunk;  // the listener's own
};

}  // namespace banyan

#endif  // BANYAN_TREE_VERDICT_H_
