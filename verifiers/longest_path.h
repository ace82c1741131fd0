// What the verifiers share that test each drafted token by the target's law
// alone and keep what passes. Lossy, whatever the test.
#ifndef BANYAN_VERIFIERS_LONGEST_PATH_H_
#define BANYAN_VERIFIERS_LONGEST_PATH_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/row_source.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {

// Whether a drafted token passes, to which the target's law gives `mass`. Asked
// of tokens with mass alone: one without never passes.
using TokenTest = std::function<bool(TokenId token, double mass)>;
// The test of the tokens drafted after a node, from the target's law there.
using Standard = std::function<TokenTest(const Distribution& law)>;

// The least mass that the target's law must give a drafted token.
using Bar = std::function<double(const Distribution& law)>;
// A token passes if its mass reaches the bar.
Standard AtLeast(Bar bar);

// The mass at the place-th place of a law, or at the last one that has any.
// Requires mass, and a place of 1 or more.
double MassAtPlace(const Distribution& law, int place);

// Of the paths whose every token passes, the longest wins; of equally long ones
// the one with the largest sum of log p(x), then the first in the tree. The
// token after it is drawn from the target's law, or its argmax.
class LongestPath : public Verifier {
 public:
  // `standard` must be safe for concurrent use.
  LongestPath(Standard standard, bool argmax)
      : standard_(std::move(standard)), argmax_(argmax) {}

  VerifierTraits traits() const override;
  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override;

 private:
  int Last(const DraftTree& tree, RowSource& target) const;

  Standard standard_;
  bool argmax_;
};

// Reads the key that all of them have, `next` (sampled or argmax). The default
// samples: the token after the path then follows the target's distribution, and
// the accepted path alone is what the rule changes. The published programs of
// Medusa, BiLD, SpecDec and blockwise decoding take the argmax; the presets say
// so.
absl::StatusOr<std::unique_ptr<Verifier>> BuildLongestPath(ParamsReader& in,
                                                           Standard standard);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LONGEST_PATH_H_
