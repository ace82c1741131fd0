// What the verifiers share that set a bar and keep what reaches it. Lossy,
// whatever the bar.
#ifndef BANYAN_VERIFIERS_LONGEST_PATH_H_
#define BANYAN_VERIFIERS_LONGEST_PATH_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "core/prob/row_source.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {

// The least mass that the target's law must give a drafted token. A token
// without mass passes no bar.
using Bar = std::function<double(const Distribution& law)>;

// Of the paths whose every token passes, the longest wins; of equally long ones
// the one with the largest sum of log p(x), then the first in the tree. The
// token after it is drawn from the target's law, or its argmax.
class LongestPath : public Verifier {
 public:
  // `bar` must be safe for concurrent use.
  LongestPath(Bar bar, bool argmax) : bar_(std::move(bar)), argmax_(argmax) {}

  VerifierTraits traits() const override;
  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override;

 private:
  int Last(const DraftTree& tree, RowSource& target) const;

  Bar bar_;
  bool argmax_;
};

// Reads the key that all of them have, `next` (sampled or argmax).
absl::StatusOr<std::unique_ptr<Verifier>> BuildLongestPath(ParamsReader& in,
                                                           Bar bar);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LONGEST_PATH_H_
