// Parts of the verifiers that test each draft token by the target distribution
// alone and keep what passes. Lossy, whatever the test.
#ifndef BANYAN_VERIFIERS_LONGEST_PATH_H_
#define BANYAN_VERIFIERS_LONGEST_PATH_H_

#include <functional>
#include <utility>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {

// Returns whether a draft token with target mass `mass` passes. Called only for
// tokens with mass: one without never passes.
using TokenTest = std::function<bool(TokenId token, double mass)>;
// Returns the test of the tokens drafted after a node, given the target
// distribution there.
using Standard = std::function<TokenTest(const Distribution& law)>;

// Returns the least mass that the target distribution must give a draft token.
using Bar = std::function<double(const Distribution& law)>;
// Returns the standard that a token passes if its mass reaches the bar.
Standard AtLeast(Bar bar);

// Returns the place-th largest mass of a distribution, or the smallest positive
// one if there are fewer. Requires mass, and a place of 1 or more.
double MassAtPlace(const Distribution& law, int place);

// Keeps the longest path whose every token passes. Of equally long ones it
// keeps the one with the largest sum of log p(x), then the first in the tree.
// The token after the path is drawn from the target distribution, or is its
// argmax.
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

// Adds the key that all of them have, `next` (sampled or argmax). The default
// samples: the token after the path then follows the target's distribution, and
// the accepted path alone is what the rule changes. The published programs of
// Medusa, BiLD, SpecDec and blockwise decoding take the argmax; the presets say
// so.
template <typename Options>
void AddNext(Keys<Options>& keys) {
  keys.OneOf("next", &Options::argmax, {"sampled", "argmax"},
             "The token after the kept path.");
}

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LONGEST_PATH_H_
