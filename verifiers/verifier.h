// Verifier: judges a draft tree by the target distributions, and returns the
// verification result (Verdict).
#ifndef BANYAN_VERIFIERS_VERIFIER_H_
#define BANYAN_VERIFIERS_VERIFIER_H_

#include <optional>
#include <vector>

#include "core/base/common.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "core/round/layout.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct VerifierTraits {
  // The draw kinds that it judges, the preferred one first.
  std::vector<DrawKind> draw_kinds;
  Exactness exactness = Exactness::kLossless;
  // What else the tree must be.
  bool chain = false;         // at most one draw a node
  bool one_list = false;      // at most one draw list a node: a single trunk
  bool fixed_counts = false;  // draws per node fixed before the first
  bool own_draws = false;     // no draws shared by cousins
  // How a device judges that runs rounds without the host; none: it cannot.
  std::optional<JudgeKind> device_judge = std::nullopt;
};

// Without state; safe for concurrent use.
class Verifier {
 public:
  virtual ~Verifier() = default;

  virtual VerifierTraits traits() const = 0;

  // Requires a tree that CheckLawful() accepts. Reads only the rows it needs.
  // Every choice is keyed by the node, and the draw at that node, it is about.
  virtual Verdict Verify(const DraftTree& tree, RowSource& target,
                         const Chance& chance) const = 0;
};

// OK if a verifier with these traits may judge this tree; else why not.
// (fixed_counts cannot be seen in a tree: the decoder checks it by the policy.)
absl::Status CheckLawful(absl::string_view verifier,
                         const VerifierTraits& traits, const DraftTree& tree);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_VERIFIER_H_
