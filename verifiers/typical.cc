// Claim. LOSSY: accepts what is typical under the target distribution.
//
// Rule (Medusa, section 3.3). With H(p) the entropy of the target distribution
// p at a node, a child x is acceptable if
//     p(x) > min(epsilon, delta * exp(-H(p))).
// The longest path of acceptable nodes wins; of equally long ones the one with
// the largest sum of log p(x), then the first in the tree. The token after the
// path is drawn from the target distribution, or is its argmax (`next`). The
// published program takes the argmax, and so does the preset medusa_typical;
// longest_path.h has the reason for the default.
//
// What it costs. The output depends on the tree. Its distance from the target
// distribution grows with the number of candidates, and a higher temperature
// raises acceptance. `banyan exact` gives the distance on a table.
#include <algorithm>
#include <cmath>
#include <memory>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "verifiers/longest_path.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

double Entropy(const Distribution& p) {
  double entropy = 0;
  p.ForEach([&](TokenId, double mass) { entropy -= mass * std::log(mass); });
  return entropy;
}

struct TypicalOptions {
  double epsilon = 0.09;  // both as published with Medusa
  double delta = 0.3;
  bool argmax = false;
};

BuiltVerifier BuildTypical(ParamsReader& in, const TypicalOptions& options) {
  const double epsilon = options.epsilon;
  const double delta = options.delta;
  in.Ensure(epsilon >= 0 && epsilon <= 1, "epsilon", "must lie in [0, 1]");
  in.Ensure(delta >= 0, "delta", "must not be negative");
  const Bar bar = [epsilon, delta](const Distribution& p) {
    const double exceed = std::min(epsilon, delta * std::exp(-Entropy(p)));
    return std::nextafter(exceed, 2.0);
  };
  return std::make_unique<LongestPath>(AtLeast(bar), options.argmax);
}

}  // namespace

VerifierRow TypicalRow() {
  Keys<TypicalOptions> keys;
  keys.Optional("epsilon", &TypicalOptions::epsilon,
                "Tokens of at least this probability are accepted.");
  keys.Optional("delta", &TypicalOptions::delta,
                "Tokens of at least this, times exp(-entropy), are accepted "
                "too.");
  AddNext(keys);
  return {.name = "typical",
          .sentence =
              "LOSSY: typical acceptance: keep what is typical under the "
              "target (Medusa).",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildTypical),
          .variants = {"{next: argmax}"}};
}

}  // namespace banyan
